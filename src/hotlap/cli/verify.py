"""``hotlap verify A [B]``: do two models give the same answers, and if not, where do they part?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hotlap.cli.console import SAID_NO, common_options, print_json, terminal
from hotlap.cli.types import AXES, DURATION, FUNCTION, SHARE

if TYPE_CHECKING:
    from hotlap.verify import Divergence, Examination, OutputDiff, Walked

UNDECIDED = 2
"""The data cannot tell: as wrong usage, since it takes more data or another question."""


@click.command("verify")
@click.argument("reference", type=click.Path())
@click.argument("candidate", type=click.Path(), required=False)
@click.option(
    "--data",
    metavar="INPUTS",
    help="Your inputs: a .npz (one feed), a folder of them, a .parquet (a feed a row), or module:function.",
)
@click.option("--rows", is_flag=True, help="Each .npz holds many feeds along axis 0.")
@click.option(
    "--level",
    type=click.Choice(["exact", "close", "task"]),
    help="The gate; default: task with --metric, else exact.",
)
@click.option(
    "--scores",
    type=AXES,
    multiple=True,
    metavar="NAME:AXIS",
    help="An output of class scores; its class axis.",
)
@click.option(
    "--boxes", multiple=True, metavar="NAME[:FORM]", help="An output of boxes: xyxy (default), xywh, cxcywh."
)
@click.option(
    "--metric",
    type=FUNCTION,
    metavar="MODULE:FUNCTION",
    help="Your score, for the gate task; higher is better.",
)
@click.option("--labels", metavar="FILE", help="The metric's labels: .npy, .npz, .json, text, or a column.")
@click.option("--max-drop", type=SHARE, help="How much lower the score may be, e.g. 0.5% or 0.005.")
@click.option("--bisect", is_flag=True, help="Name the first node at which the two part, or that gives NaN.")
@click.option(
    "--save-worst",
    type=click.Path(dir_okay=False),
    metavar="FILE.npz",
    help="Where to keep the worst input; default: CANDIDATE.worst.npz here, if the answer is no.",
)
@click.option("--no-save", is_flag=True, help="Do not keep the worst input.")
@click.option("--timeout", type=DURATION, default="120s", show_default=True, help="After which one hangs.")
@common_options
def command(
    reference: str,
    candidate: str | None,
    data: str | None,
    rows: bool,
    level: str | None,
    scores: tuple[tuple[str, int], ...],
    boxes: tuple[str, ...],
    metric: Any,
    labels: str | None,
    max_drop: float | None,
    bisect: bool,
    save_worst: str | None,
    no_save: bool,
    timeout: float,
    as_json: bool,
) -> int:
    """Judge whether CANDIDATE gives the answers of REFERENCE; exit 0 if so, 1 if not.

    Each is a model, a plan, a .lap folder, or a Python callable (module:name). Without a CANDIDATE, the model
    as ONNX Runtime optimises it is judged against the same model without optimisation.

    Without --data, inputs of several shapes are made to fit the signature, and the gate is exact.
    """
    from msgspec.structs import replace

    from hotlap.bench.target import target_of
    from hotlap.plan.files import check_apart
    from hotlap.verify import examine
    from hotlap.verify.given import given_data, given_labels

    if save_worst is not None and no_save:
        raise click.UsageError("--save-worst and --no-save exclude each other")
    if labels is not None and metric is None:
        raise click.UsageError("--labels are for a --metric")
    if max_drop is not None and metric is None:
        raise click.UsageError("--max-drop is for a --metric: it says how much that may fall")
    worst = None if no_save else save_worst or f"{_stem(candidate or reference)}.worst.npz"
    if worst is not None:
        check_apart(worst, filter(None, (data, labels)))
    inputs = None if data is None else given_data(data, rows)
    known = None if labels is None else given_labels(labels, inputs)
    right, judged = target_of(reference), None if candidate is None else target_of(candidate)
    if judged is not None and judged.label == right.label:  # two files of one name in two folders
        right, judged = replace(right, label=reference), replace(judged, label=str(candidate))
    found = examine(
        right,
        judged,
        inputs,
        level or ("exact" if metric is None else "task"),
        scores=dict(scores),
        boxes=dict(_boxes(text) for text in boxes),
        metric=metric,
        max_drop=max_drop,
        labels=known,
        save_worst=worst,
        walk=bisect,
        timeout=timeout,
    )
    if as_json:
        print_json(found)
    else:
        _show(found, bisect)
    if found.verdict.undecided:
        return UNDECIDED
    return 0 if found.verdict.passed else SAID_NO


def _boxes(text: str) -> tuple[str, str]:
    name, colon, form = text.rpartition(":")  # an output's name may hold colons itself
    return (name, form) if colon and form.isalpha() else (text, "xyxy")


def _stem(target: str) -> str:
    return Path(target).stem.replace(":", ".") or "model"


def _show(found: Examination, bisect: bool) -> None:
    from rich.text import Text

    console = terminal()
    verdict = found.verdict
    console.print(Text(f"{found.candidate} against {found.reference}"))
    if verdict.outputs:
        console.print(_table(verdict.outputs))
    word = "agree" if verdict.passed else "undecided" if verdict.undecided else "differ"
    style = {"agree": "bold green", "undecided": "bold yellow"}.get(word, "bold red")
    console.print(Text(f"{word}: ", style=style) + Text(verdict.reason))
    made = "made to fit the signature (give --data for your own)" if verdict.generated else "given"
    console.print(Text(f"judged: {verdict.rows:,} rows of {verdict.inputs:,} inputs, {made}"))
    if verdict.worst and not verdict.passed:
        console.print(Text(f"worst: {verdict.worst}"))
    if found.saved:
        console.print(Text(f"that input: {found.saved} (hotlap run MODEL --input {found.saved})"))
    for note in verdict.notes:
        console.print(Text(f"note: {note}", style="yellow"))
    if verdict.unlock:
        console.print(Text(f"to go on: {verdict.unlock}"))
    _show_cause(found, bisect)


def _show_cause(found: Examination, bisect: bool) -> None:
    from rich.text import Text

    console = terminal()
    if found.blame is not None:
        names = ";".join(found.blame.optimisers)
        said = (
            f"optimiser: without {names} the answers agree; a plan leaves it out with "
            f'optimization.disable_specified_optimizers = "{names}"'
            if names
            else f"optimiser: no set of the {len(found.blame.changed)} that changed the graph explains it"
        )
        console.print(Text(said, style="bold"))
    if found.walked is not None:
        for line in _walk_lines(found.walked):
            console.print(Text(line))
    elif bisect and found.verdict.passed:
        console.print(Text("bisect: nothing to look for, the answers agree"))


def _walk_lines(walked: Walked) -> list[str]:
    seen = f"{walked.compared:,} of {walked.values:,} values looked at"
    if walked.by:
        seen += f", paired by {walked.by}"
    if walked.found is None:
        return [
            f"bisect: no node differs ({seen}), graph optimisation aside: hotlap verify each model alone "
            "shows whether that is what differs"
        ]
    lines = [f"bisect: first {walked.found.label}"]
    if walked.found.other:
        lines.append(f"  in the candidate it is {walked.found.other}")
    lines += [_input_line(walked.found, n) for n in range(len(walked.found.inputs))]
    return [*lines, f"  ({seen})"]


def _input_line(found: Divergence, number: int) -> str:
    seen = found.inputs[number]
    return f'  its input "{seen.name}": {seen.said}'


def _table(outputs: tuple[OutputDiff, ...]) -> Any:
    from rich.table import Table
    from rich.text import Text

    from hotlap.verify.levels import COSINE, NEAR, NEAR_SHARE, NOISE_FACTOR

    table = Table(box=None, pad_edge=False, header_style="bold")
    heads = (
        "output",
        "max",
        "mean",
        "of range",
        "rms",
        "noise",
        "rel. max",
        "near",
        "cosine",
        "top-1",
        "top-5",
        "IoU",
    )
    shown = [_cells(diff) for diff in outputs]
    limits = (
        "allowed", "", "", f"exact: {NOISE_FACTOR:g}x noise", f"{NOISE_FACTOR:g}x", "", "",
        f"close: {NEAR_SHARE:.1%} in {NEAR:.0%}", f"{COSINE}", "all", "", "",
    )  # fmt: skip
    used = [n for n in range(len(heads)) if n == 0 or any(row[n] for row in shown)]
    for n in used:
        table.add_column(heads[n], justify="left" if n == 0 else "right")
    for row in shown:
        table.add_row(*(Text(row[n]) for n in used))
    table.add_row(*(Text(limits[n]) for n in used), style="dim")
    return table


def _cells(diff: OutputDiff) -> tuple[str, ...]:
    noise = "" if diff.noise is None else f"{diff.noise.max_rel:.2g} ({diff.noise.rms:.2g})"
    return (
        diff.name,
        f"{diff.max_abs:.3g}",
        f"{diff.mean_abs:.3g}",
        f"{diff.max_rel:.2g}",
        f"{diff.rms:.2g}",
        noise,
        f"{diff.max_relative:.2g}",
        f"{diff.within:.2%}",
        f"{diff.cosine:.6f}",
        "" if diff.top1 is None else f"{diff.top1:.2%}",
        "" if diff.top5 is None else f"{diff.top5:.2%}",
        "" if diff.iou is None else f"{diff.iou:.4f}",
    )
