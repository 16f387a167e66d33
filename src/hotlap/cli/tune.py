"""``hotlap tune MODEL -o FOLDER``: find the fastest plan whose answers agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hotlap.cli.console import common_options, print_json, progress, terminal
from hotlap.cli.gates import gate_options, max_drop_option
from hotlap.cli.types import DURATION, FUNCTION

if TYPE_CHECKING:
    from hotlap.tune import Tuning


@click.command("tune")
@click.argument("model", type=click.Path())
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    help="The folder to write, e.g. model.lap; without it, nothing is written.",
)
@click.option("--data", type=click.Path(), help="Your inputs: a .npz (one feed) or a folder of them.")
@click.option("--rows", is_flag=True, help="Each .npz holds many feeds along axis 0.")
@click.option(
    "--time",
    "seconds",
    type=DURATION,
    default="90s",
    show_default=True,
    help="How long it may take; 10s to a day.",
)
@gate_options("task with --metric, close with --data, else exact")
@click.option("--metric", type=FUNCTION, metavar="MODULE:FUNCTION", help="Your score, for the gate task.")
@max_drop_option
@click.option("--providers", help="Try these alone, e.g. cpu,openvino; default: all that load here.")
@click.option("--copy", is_flag=True, help="Copy the model; default: a hard link where possible.")
@click.option("--reference", is_flag=True, help="Let the plan point to the model where it lies.")
@click.option("--force", is_flag=True, help="Replace the folder if it is an older lap.")
@common_options
def command(
    model: str,
    output: str | None,
    data: str | None,
    rows: bool,
    seconds: float,
    level: str | None,
    scores: tuple[tuple[str, int], ...],
    metric: Any,
    max_drop: float | None,
    providers: str | None,
    copy: bool,
    reference: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Find the fastest plan for MODEL whose answers agree, and write it as a folder.

    Baseline: onnxruntime.InferenceSession(MODEL) with no options, which is what most services run today.
    """
    from hotlap.tune import Budget, tune

    with progress("tuning", seconds, lines_after=0.5) as tell:
        tuning = tune(
            model,
            output,
            data=data,
            rows=rows,
            budget=Budget(seconds=seconds),
            level=level,
            scores=dict(scores),
            metric=metric,
            max_drop=max_drop,
            providers=None if providers is None else [name.strip() for name in providers.split(",")],
            copy=copy,
            reference=reference,
            force=force,
            on_progress=tell,
        )
    if as_json:
        print_json(_summary(tuning))
    else:
        _show(tuning)


def _summary(tuning: Tuning) -> dict[str, Any]:
    """Everything but the raw samples, which lie in tuning.json."""
    import msgspec

    table: dict[str, Any] = msgspec.to_builtins(tuning)
    heavy = [*table["trials"], *((table["comparison"] or {}).get(side, {}) for side in "ab")]
    for holder in heavy:
        holder.pop("processes", None)
    del table["baseline"]
    return table


def _show(tuning: Tuning) -> None:
    from rich.table import Table
    from rich.text import Text

    console = terminal()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("candidate", "p50", "p95", "CPU", ""):
        table.add_column(
            name, justify="right" if name in {"p50", "p95", "CPU"} else "left", no_wrap=name != ""
        )
    for trial in tuning.trials:
        style = "bold" if trial.status == "chosen" else "dim" if trial.status == "dropped" else ""
        said = trial.status if trial.status in {"chosen", "kept"} else trial.reason
        if trial.status in {"refused", "failed"}:
            said = f"{trial.status}: {said}"
        cells = (trial.label, _times(trial.speedup), _times(trial.speedup_p95), _times(trial.cpu_ratio), said)
        table.add_row(*(Text(c) for c in cells), style=style)
    console.print(table)
    legend = (
        "p50, p95: times as fast as the default, in the race. CPU: CPU time a request, the default's = 1.\n"
    )
    console.print(legend, style="dim")
    console.print(Text(tuning.said), style="bold")
    console.print(Text(_how(tuning)))
    for doubt in tuning.comparison.doubts if tuning.comparison else ():
        if not doubt.startswith("void:"):  # the sentence above says it
            console.print(Text(f"doubt: {doubt}"), style="yellow")
    if tuning.folder:
        console.print(
            Text(f"{tuning.folder}: plan, model, tuning.json. Next: hotlap run {tuning.folder} --generate")
        )


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}x"


def _how(tuning: Tuning) -> str:
    lines = []
    comparison = tuning.comparison
    if comparison is not None and not comparison.void:
        tail, sides = comparison.tail, (comparison.a, comparison.b)
        many = " + ".join(str(len(side.processes)) for side in sides)
        lines.append(
            f"p95: {tail.ratio:.2f} ({tail.low:.2f} to {tail.high:.2f}). "
            f"95 % intervals over {many} fresh processes in turn{_others(comparison.foreign)}."
        )
    given = f"{tuning.feeds} given" if tuning.feeds > 1 else "the one given"
    inputs = "made to fit the signature (give --data for your own)" if tuning.generated else given
    if tuning.verdict is not None:
        lines.append(f"Answers: {tuning.verdict.reason}. Inputs: {inputs}.")
    lines += [f"Not tried: {reason}." for reason in tuning.not_tried]
    return "\n".join(lines)


def _others(foreign: float | None) -> str:
    return "" if foreign is None else f"; other work took {foreign:.1%} of the CPUs meanwhile"
