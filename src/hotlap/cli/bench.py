"""``hotlap bench``: measure a model, a plan or a callable, or compare it with others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from hotlap.bench import (
    Comparison,
    Measurement,
    ShapeMix,
    Target,
    Workload,
    append_history,
    compare,
    compare_each,
    load_mix,
    load_trace,
    measure,
    parse_mix,
)
from hotlap.bench.target import target_of
from hotlap.cli.calls import show_calls
from hotlap.cli.console import SAID_NO, common_options, print_json, progress
from hotlap.cli.measured import document, print_comparisons, print_measurement
from hotlap.cli.types import DURATION, PERCENT
from hotlap.errors import HotlapError, TargetFailed
from hotlap.plan.files import check_apart, check_writable

DEFAULTS = Workload()
Show = Callable[[float, str], None]


@click.command()
@click.argument("models", metavar="MODEL...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--against", metavar="OTHER", multiple=True, type=click.Path(), help="The baseline; may be given again."
)
@click.option("--calls", is_flag=True, help="Instead: the ways to call MODEL, side by side.")
@click.option("--data", metavar="PATH", type=click.Path(), help="A .npz file (one feed) or a folder of them.")
@click.option("--rows", is_flag=True, help="Each .npz holds many feeds along axis 0.")
@click.option(
    "--shapes",
    metavar="MIX",
    multiple=True,
    help="Make inputs of these shapes, e.g. x=1x3x48x{160:0.5,320:0.5}, or a recording's shapes.json.",
)
@click.option("--rate", type=float, help="Open loop: so many requests a second.")
@click.option(
    "--arrivals",
    type=click.Choice(["poisson", "constant"]),
    help="How they come at --rate.  [default: poisson]",
)
@click.option("--trace", metavar="FILE", type=click.Path(), help="Open loop: recorded arrival times.")
@click.option(
    "--concurrency", type=int, default=1, show_default=True, help="Callers: threads that share the target."
)
@click.option("--gap", type=DURATION, default=0.0, help="Closed loop: pause before each call, e.g. 50ms.")
@click.option(
    "--seconds",
    "--duration",
    type=DURATION,
    default=DEFAULTS.seconds,
    show_default=True,
    help="Measured in each process.",
)
@click.option("--iterations", type=int, help="Calls in each process, in place of --seconds.")
@click.option("--warmup", type=DURATION, default=DEFAULTS.warmup, show_default=True, help="Before that.")
@click.option(
    "--processes", type=int, default=DEFAULTS.processes, show_default=True, help="Fresh processes a side."
)
@click.option("--timeout", type=DURATION, default=DEFAULTS.timeout, show_default=True, help="Until it hangs.")
@click.option("--seed", type=int, default=DEFAULTS.seed, show_default=True, help="Of inputs and resampling.")
@click.option(
    "--percentile", type=float, default=50.0, show_default=True, help="Of the latency that is compared."
)
@click.option(
    "--same-within", type=PERCENT, default="2%", show_default=True, help="Margin of calling them the same."
)
@click.option("--save", metavar="FILE", type=click.Path(dir_okay=False), help="Keep all samples as JSON.")
@click.option("--history", metavar="FILE", type=click.Path(dir_okay=False), help="Append a JSON line a run.")
@click.option(
    "--keep-inputs", metavar="FOLDER", type=click.Path(file_okay=False), help="For the ten slowest."
)
@common_options
def command(
    models: tuple[str, ...],
    against: tuple[str, ...],
    calls: bool,
    data: str | None,
    rows: bool,
    same_within: float,
    percentile: float,
    save: str | None,
    history: str | None,
    keep_inputs: str | None,
    as_json: bool,
    **traffic: Any,
) -> int:
    """Measure MODEL, or compare it with OTHER.

    An .onnx file is measured as onnxruntime.InferenceSession(path) runs it, with no options; a plan (a .lap
    folder or a .toml file) as hotlap.open runs it; module:name is a Python callable, looked for in the
    current folder first. With --against, the exit code is 1 when a MODEL is slower than its OTHER. Several
    models against one other, or one against several, are one run whose intervals are corrected for many
    looks.

    With --calls, all in this process: what does ONNX Runtime's run cost, what do its other ways, and what do
    hotlap's.
    """
    if calls:
        if len(models) != 1 or against or save is not None:
            raise click.UsageError("--calls is about one MODEL: without --against and --save")
        return show_calls(models[0], data, rows, traffic["seconds"], traffic["seed"], as_json)
    workload = _workload(**traffic)
    targets, pairs = _targets(models, against)
    _check(data, rows, workload, pairs, save, keep_inputs)
    for file in (save, history):
        if file is not None:
            check_writable(file)
            check_apart(file, [*(t.model for t in targets if t.model), *filter(None, [data])])
    options: dict[str, Any] = {"rows": rows}
    if keep_inputs is not None:
        options["keep_inputs"] = keep_inputs
    if pairs:
        options |= {"percentile": percentile, "same": same_within}
    with progress("Measuring", workload.processes * len(targets)) as show:
        try:
            found = _measured(targets, pairs, workload, data, show, options)
        except TargetFailed as error:
            # The child's own error says who must act, and the exit code follows from that.
            raise error.__cause__ if isinstance(error.__cause__, HotlapError) else error from error
    return _report(found, data, workload, save, history, as_json)


def _workload(
    shapes: tuple[str, ...], rate: float | None, arrivals: str | None, trace: str | None, **rest: Any
) -> Workload:
    if trace is not None and (rate is not None or arrivals is not None):
        raise click.UsageError("--trace says when requests come; --rate and --arrivals say it otherwise")
    if arrivals is not None and rate is None:
        raise click.UsageError("--arrivals says how requests come at --rate, which is missing")
    kind: Any = "trace" if trace is not None else "closed" if rate is None else arrivals or "poisson"
    return Workload(
        arrivals=kind,
        rate=rate,
        trace=() if trace is None else tuple(load_trace(trace).tolist()),
        shapes=tuple(_mix(text) for text in shapes),
        **rest,
    )


def _mix(text: str) -> ShapeMix:
    return load_mix(text) if text.endswith(".json") else parse_mix(text)


def _targets(models: Sequence[str], against: Sequence[str]) -> tuple[list[Target], list[tuple[int, int]]]:
    """Everything that is measured, and which is compared with which: (baseline, candidate)."""
    if len(models) > 1 and len(against) != 1:
        raise click.UsageError(
            "several models need one --against: their common baseline"
            if not against
            else "give one MODEL against several others, or several against one"
        )
    targets = [_target(path) for path in (*against, *models)]
    labels = [t.label for t in targets]
    if len(targets) > 2 and len(set(labels)) < len(labels):  # the tables tell them apart by their labels
        targets = [
            msgspec.structs.replace(target, label=path)
            for target, path in zip(targets, (*against, *models), strict=True)
        ]
    if not against:
        return targets, []
    return targets, [(a, b) for a in range(len(against)) for b in range(len(against), len(targets))]


def _target(path: str) -> Target:
    target = target_of(path)
    if target.kind != "callable" and not Path(path).exists():
        raise click.UsageError(f"{path}: no such file or folder")
    return target


def _check(
    data: str | None,
    rows: bool,
    workload: Workload,
    pairs: Sequence[tuple[int, int]],
    save: str | None,
    keep_inputs: str | None,
) -> None:
    if rows and data is None:
        raise click.UsageError("--rows says how to read --data, which is missing")
    if data is not None and workload.shapes:
        raise click.UsageError("--data has shapes of its own: leave out --shapes")
    if len(pairs) > 1 and (save is not None or keep_inputs is not None):
        raise click.UsageError(
            "--save and --keep-inputs are for one comparison: save each measurement, then hotlap compare"
        )


def _measured(
    targets: list[Target],
    pairs: list[tuple[int, int]],
    workload: Workload,
    data: str | None,
    show: Show,
    options: dict[str, Any],
) -> Measurement | tuple[Comparison, ...]:
    def on_progress(done: int, total: int, label: str) -> None:
        show(done, label)

    if not pairs:
        return measure(targets[0], workload, data, on_progress, **options)
    if len(pairs) == 1:
        return (compare(targets[0], targets[1], workload, data, on_progress, **options),)
    return compare_each(targets, pairs, workload, data, on_progress, **options)


def _report(
    found: Measurement | tuple[Comparison, ...],
    data: str | None,
    workload: Workload,
    save: str | None,
    history: str | None,
    as_json: bool,
) -> int:
    results = [found] if isinstance(found, Measurement) else list(found)
    if save is not None:
        results[0].save(save)
    if history is not None:
        for result in results:
            append_history(history, result)
    if as_json:
        print_json(document(results))
    else:
        made = "feeds of the given shapes" if workload.shapes else "one feed"
        notes = [
            f"inputs: {data or f'{made}, generated to fit the signature'}",
            *([] if save is None else [f"all samples: {save}"]),
            *([] if history is None else [f"history: {history}"]),
        ]
        if isinstance(found, Measurement):
            print_measurement(found, notes)
        else:
            print_comparisons(found, notes)
    slower = any(isinstance(result, Comparison) and result.fails() for result in results)
    return SAID_NO if slower else 0
