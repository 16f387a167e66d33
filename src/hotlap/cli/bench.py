"""``hotlap bench``: measure a model or a plan, or compare it with another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hotlap.bench import Comparison, Measurement, Target, Workload, compare, measure
from hotlap.bench.workload import target_of
from hotlap.cli.console import SAID_NO, common_options, print_json, progress
from hotlap.cpus import cpu_budget
from hotlap.errors import HotlapError, TargetFailed
from hotlap.plan import Plan

DEFAULTS = Workload()
Show = Callable[[float, str], None]


@click.command()
@click.argument("model", type=click.Path())
@click.option("--against", metavar="OTHER", type=click.Path(), help="The baseline: another model or plan.")
@click.option("--calls", is_flag=True, help="Instead: the ways to call MODEL, side by side.")
@click.option("--data", metavar="PATH", type=click.Path(), help="A .npz file (one feed) or a folder of them.")
@click.option("--rows", is_flag=True, help="Each .npz holds many feeds along axis 0.")
@click.option(
    "--seconds", type=float, default=DEFAULTS.seconds, show_default=True, help="Measured in each process."
)
@click.option(
    "--processes", type=int, default=DEFAULTS.processes, show_default=True, help="Fresh processes a side."
)
@click.option("--seed", type=int, default=DEFAULTS.seed, show_default=True, help="Of inputs and resampling.")
@click.option("--save", metavar="FILE", type=click.Path(dir_okay=False), help="Keep all samples as JSON.")
@common_options
def command(
    model: str,
    against: str | None,
    calls: bool,
    data: str | None,
    rows: bool,
    seconds: float,
    processes: int,
    seed: int,
    save: str | None,
    as_json: bool,
) -> int:
    """Measure MODEL, or compare it with OTHER.

    An .onnx file is measured as onnxruntime.InferenceSession(path) runs it, with no options; a plan (a .lap
    folder or a .toml file) as hotlap.open runs it. With --against, the exit code is 1 when MODEL is slower
    than OTHER.

    With --calls, all in this process: what does ONNX Runtime's run cost, what do its other ways, and what do
    hotlap's.
    """
    if calls:
        return _calls(model, against, data, rows, seconds, seed, save, as_json)
    workload = Workload(seconds=seconds, processes=processes, seed=seed)
    candidate = _target(model)
    baseline = None if against is None else _target(against)
    if rows and data is None:
        raise click.UsageError("--rows says how to read --data, which is missing")
    with progress("Measuring", processes * (1 if baseline is None else 2)) as show:
        try:
            result = _measured(candidate, baseline, workload, data, rows, show)
        except TargetFailed as error:
            # The child's own error says who must act, and the exit code follows from that.
            raise error.__cause__ if isinstance(error.__cause__, HotlapError) else error from error
    if save is not None:
        result.save(save)
    if as_json:
        print_json(_without_samples(msgspec.to_builtins(result)))
    else:
        _print(result, data, save)
    slower = isinstance(result, Comparison) and result.verdict == "slower" and not result.void
    return SAID_NO if slower else 0


def _calls(
    model: str,
    against: str | None,
    data: str | None,
    rows: bool,
    seconds: float,
    seed: int,
    save: str | None,
    as_json: bool,
) -> int:
    from hotlap.bench.calls import compare_calls
    from hotlap.bench.data import load_feeds
    from hotlap.runtime import find_feed, open

    if against is not None or save is not None:
        raise click.UsageError("--calls compares the ways to call one model: without --against and --save")
    with open(model, warm=False) as runner:
        feeds = load_feeds(data, rows=rows) if data else [find_feed(runner.run, runner.inputs, seed=seed)]
        result = compare_calls(runner, feeds, 10 * seconds, seed)
    if as_json:
        print_json(msgspec.to_builtins(result))
        return 0
    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("way")
    for name in ("a call", "ratio", "95 % interval"):
        table.add_column(name, justify="right")
    table.add_column("")
    for way in result.ways:
        if way.seconds is None or way.ratio is None or way.low is None or way.high is None:
            table.add_row(escape(way.name), "", "", "", escape(way.note))
        else:
            interval = f"{way.low:.2f} to {way.high:.2f}"
            table.add_row(
                escape(way.name), _time(way.seconds), f"{way.ratio:.2f}", interval, escape(way.what)
            )
    console.print(table)
    said = f"inputs: {data or 'one feed, generated to fit the signature'}; {result.rounds} rounds in turn"
    _say(console, ["", escape(said), escape(f"hotlap run is {result.path}: {result.why}")])
    return 0


def _target(path: str) -> Target:
    if not Path(path).exists():
        raise click.UsageError(f"{path}: no such file or folder")
    return target_of(path)


def _measured(
    candidate: Target, baseline: Target | None, workload: Workload, data: str | None, rows: bool, show: Show
) -> Measurement | Comparison:
    def on_progress(done: int, total: int, label: str) -> None:
        show(done, label)

    if baseline is None:
        return measure(candidate, workload, data, on_progress, rows=rows)
    return compare(baseline, candidate, workload, data, on_progress, rows=rows)


def _without_samples(value: Any) -> Any:
    """The raw samples are for --save: they would bury everything else."""
    if isinstance(value, dict):
        return {k: _without_samples(v) for k, v in value.items() if k != "samples"}
    return [_without_samples(v) for v in value] if isinstance(value, list | tuple) else value


def _print(result: Measurement | Comparison, data: str | None, save: str | None) -> None:
    console = Console(highlight=False)
    lines = (
        _headline(result)
        if isinstance(result, Comparison)
        else [f"[bold]{escape(result.target.label)}[/bold]"]
    )
    _say(console, [*lines, ""])
    if isinstance(result, Comparison):
        sides = {"baseline": result.a, "candidate": result.b}
    else:
        sides = {"measured": result}
    console.print(_table(sides))
    processes = [p for side in sides.values() for p in side.processes]
    _say(
        console,
        [
            "",
            *(f"{name}: {escape(_describe(side.target))}" for name, side in sides.items()),
            f"inputs: {escape(data or 'one feed, generated to fit the signature')}",
            _meanwhile([p.disturbance for p in processes]),
            *(f"[yellow]doubt:[/yellow] {escape(doubt)}" for doubt in result.doubts),
            *([] if save is None else [f"all samples: {escape(save)}"]),
        ],
    )


def _say(console: Console, lines: list[str]) -> None:
    """Wrapped at a terminal's edge; in a file or a pipe one line stays one line."""
    for line in lines:
        console.print(line, soft_wrap=not console.is_terminal)


def _headline(result: Comparison) -> list[str]:
    void = "[bold red]VOID[/bold red]: other work disturbed this run, so the verdict says nothing"
    colour = {"faster": "green", "slower": "red"}.get(result.verdict, "cyan")
    tail = result.tail
    return [
        *([void] if result.void else []),
        f"{escape(result.b.target.label)} against {escape(result.a.target.label)}",
        f"[bold {colour}]{result.verdict}[/bold {colour}]: p{result.percentile:g} speed-up "
        f"[bold]{result.ratio:.3f}x[/bold], 95 % interval {result.low:.3f} to {result.high:.3f}",
        f"{tail.verdict}: p{tail.percentile:g} speed-up {tail.ratio:.3f}x, "
        f"95 % interval {tail.low:.3f} to {tail.high:.3f}",
    ]


def _table(sides: dict[str, Measurement]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("median across processes")
    for name in sides:
        table.add_column(name, justify="right", overflow="fold")
    for name, cell in _ROWS.items():
        table.add_row(name, *(cell(side) for side in sides.values()))
    return table


def _middle(side: Measurement, field: str) -> Any:
    values = sorted(v for p in side.processes if (v := getattr(p, field)) is not None)
    return values[len(values) // 2] if values else None


def _memory(side: Measurement) -> str:
    peak = _middle(side, "rss_peak")
    return "unknown" if peak is None else f"{peak / 2**20:,.0f} MiB"


_ROWS: dict[str, Any] = {
    "p50": lambda m: _time(m.p50),
    "p95": lambda m: _time(m.p95),
    "CPU time per request": lambda m: _time(m.cpu_per_call),
    "first call": lambda m: _time(_middle(m, "first_call_s")),
    "loading": lambda m: _time(_middle(m, "load_s")),
    "peak memory": _memory,
    "threads of the target": lambda m: str(_middle(m, "threads")),
    "calls / processes": lambda m: f"{m.calls:,} / {len(m.processes)}",
}


def _time(seconds: float) -> str:
    """Three digits that matter, in the unit that fits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds < 1000 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def _describe(target: Target) -> str:
    if target.kind == "default":
        count = cpu_budget().ort_default
        return (
            f"onnxruntime.InferenceSession(path), no options: {count} intra-op "
            f"thread{'s' * (count != 1)} (ORT's choice), spinning on"
        )
    plan = Plan.loads(target.plan or "", where=target.label)
    threads = "from affinity and quota" if plan.threads is None else str(plan.threads)
    return f"hotlap.open: providers {', '.join(plan.providers)}; threads {threads}; spin {plan.spin}"


def _meanwhile(taken: list[float | None]) -> str:
    known = [t for t in taken if t is not None]
    if not known:
        return "other work meanwhile: unknown"
    mean = 100 * sum(known) / len(known)
    most = 100 * max(known)
    return f"other work meanwhile took {mean:.1f} % of the CPUs (most in one process: {most:.1f} %)"
