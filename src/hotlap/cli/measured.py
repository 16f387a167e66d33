"""How measurements and comparisons look on a terminal; for the verbs that show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hotlap.bench import Comparison, Measurement, Quantile, Target
from hotlap.bench.history import summarise
from hotlap.bench.quantiles import needed
from hotlap.cpus import cpu_budget
from hotlap.plan import Plan

__all__ = ["describe", "document", "for_json", "print_comparisons", "print_measurement", "time_label"]

QUANTILES = (50.0, 90.0, 95.0, 99.0, 99.9)


def document(results: Sequence[Measurement | Comparison]) -> Any:
    """What --json prints: a result without its samples, its percentiles in a summary; or several."""
    tables = [{**for_json(msgspec.to_builtins(one)), "summary": _summary(one)} for one in results]
    return tables[0] if len(tables) == 1 else {"comparisons": tables}


def _summary(result: Measurement | Comparison) -> Any:
    if isinstance(result, Measurement):
        return msgspec.to_builtins(summarise(result))
    return msgspec.to_builtins({"baseline": summarise(result.a), "candidate": summarise(result)})


def for_json(value: Any) -> Any:
    """The raw samples are for --save: they would bury everything else."""
    if isinstance(value, dict):
        return {k: for_json(v) for k, v in value.items() if k not in ("samples", "services", "trace")}
    return [for_json(v) for v in value] if isinstance(value, list | tuple) else value


def print_measurement(result: Measurement, notes: Sequence[str] = ()) -> None:
    """One side alone."""
    console = Console(highlight=False)
    say(console, [*_void(result), f"[bold]{escape(result.target.label)}[/bold]", ""])
    console.print(_table({"measured": result}))
    say(console, ["", *_below({"measured": result}, result.doubts, notes)])
    _print_slowest(console, result)


def print_comparisons(found: Sequence[Comparison], notes: Sequence[str] = ()) -> None:
    """One or several of one run; each side is shown once."""
    console = Console(highlight=False)
    for one in found:
        say(console, [*_void(one), *_headline(one), ""])
    sides: dict[str, Measurement] = {}
    for one in found:
        sides |= _sides(one) if len(found) == 1 else {m.target.label: m for m in (one.a, one.b)}
    console.print(_table(sides))
    doubts = list(dict.fromkeys(doubt for one in found for doubt in one.doubts))
    say(console, ["", *_below(sides, doubts, notes)])
    _print_slowest(console, found[-1].b)


def _sides(one: Comparison) -> dict[str, Measurement]:
    return {"baseline": one.a, "candidate": one.b}


def say(console: Console, lines: Sequence[str]) -> None:
    """Wrapped at a terminal's edge; in a file or a pipe one line stays one line."""
    for line in lines:
        console.print(line, soft_wrap=not console.is_terminal)


def _void(result: Measurement | Comparison) -> list[str]:
    if not result.void:
        return []
    what = "the verdict says" if isinstance(result, Comparison) else "the numbers say"
    return [f"[bold red]VOID[/bold red]: other work disturbed this run, so {what} nothing"]


def _headline(result: Comparison) -> list[str]:
    colour = {"faster": "green", "slower": "red"}.get(result.verdict, "cyan")
    level = "95 % interval" if result.looks == 1 else f"interval for {result.looks} comparisons at once"
    return [
        f"{escape(result.b.target.label)} against {escape(result.a.target.label)}",
        f"[bold {colour}]{result.verdict}[/bold {colour}]: p{result.percentile:g} speed-up "
        f"[bold]{result.ratio:.3f}x[/bold], {level} {result.low:.3f} to {result.high:.3f}",
        *_sameness(result),
        _tail(result),
    ]


def _sameness(result: Comparison) -> list[str]:
    if result.same_within is not None:
        return [f"the same within {100 * result.same_within:g} %"]
    if result.enough:
        return []
    return [f"not enough data to say more: they differ by {100 * result.bound:.1f} % at most"]


def _tail(result: Comparison) -> str:
    tail = result.tail
    if not tail.enough:
        return f"p{tail.percentile:g}: not enough data, it needs {needed(tail.percentile):,} calls a side"
    return (
        f"{tail.verdict}: p{tail.percentile:g} speed-up {tail.ratio:.3f}x, "
        f"interval {tail.low:.3f} to {tail.high:.3f}"
    )


def _table(sides: dict[str, Measurement]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("median across processes", no_wrap=len(sides) < 3)
    for name in sides:
        table.add_column(escape(name), justify="right", overflow="fold")
    intervals = len(sides) < 3  # a line of a terminal holds no more
    for q in QUANTILES:
        table.add_row(f"p{q:g}", *(_quantile(side.quantile(q), q, intervals) for side in sides.values()))
    for name, cell in _ROWS.items():
        cells = [cell(side) for side in sides.values()]
        if any(cells):
            table.add_row(name, *cells)
    return table


def _quantile(found: Quantile | None, q: float, interval: bool) -> str:
    if found is None:
        return f"needs {needed(q):,} calls"
    if not interval:
        return time_label(found.value)
    low, high = (time_label(found.low), time_label(found.high))
    number, _, unit = low.partition(" ")
    return f"{time_label(found.value)} ({number if high.endswith(' ' + unit) else low} to {high})"


def _middle(side: Measurement, field: str) -> Any:
    values = sorted(v for p in side.processes if (v := getattr(p, field)) is not None)
    return values[len(values) // 2] if values else None


def _seconds(side: Measurement, field: str) -> str:
    value = _middle(side, field)
    return "" if value is None else time_label(value)


def _memory(side: Measurement) -> str:
    peak, settled = (_middle(side, name) for name in ("rss_peak", "rss_settled"))
    if peak is None:
        return "unknown"
    return f"{peak / 2**20:,.0f} MiB" + ("" if settled is None else f", {settled / 2**20:,.0f} MiB")


def _first_of_a_shape(side: Measurement) -> str:
    """The slowest, where there is more than one shape."""
    slowest = [
        max(p.first_by_shape.items(), key=lambda one: one[1])
        for p in side.processes
        if len(p.first_by_shape) > 1
    ]
    if not slowest:
        return ""
    shape, took = sorted(slowest, key=lambda one: one[1])[len(slowest) // 2]
    return f"{time_label(took)} ({escape(shape)})"


def _steady(side: Measurement) -> str:
    calls = _middle(side, "steady_after")
    return "" if calls is None else f"{calls:,} calls"


_ROWS: dict[str, Any] = {
    "min, mean, max": lambda m: ", ".join(map(time_label, (m.min, m.mean, m.max))),
    "requests a second": lambda m: f"{m.rate:,.1f}" if m.rate < 1000 else f"{m.rate:,.0f}",
    "CPU time per request": lambda m: time_label(m.cpu_per_call),
    "memory: peak, settled": _memory,
    "process start": lambda m: _seconds(m, "start_s"),
    "importing": lambda m: _seconds(m, "import_s"),
    "loading": lambda m: _seconds(m, "load_s"),
    "first call": lambda m: _seconds(m, "first_call_s"),
    "slowest first call of a shape": _first_of_a_shape,
    "steady after": _steady,
    "threads of the target": lambda m: str(_middle(m, "threads")),
    "the harness adds, a call": lambda m: _seconds(m, "overhead_s"),
    "calls / processes": lambda m: f"{m.calls:,} / {len(m.processes)}",
}


def time_label(seconds: float) -> str:
    """Three digits that matter, in the unit that fits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= 0.9995 * size:  # what rounds to 1 of a unit is 1 of it, not 1000 of the next
            many = seconds >= 999.5 * size
            return f"{seconds / size:.0f} {unit}" if many else f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def _below(sides: dict[str, Measurement], doubts: Sequence[str], notes: Sequence[str]) -> list[str]:
    processes = [p for side in sides.values() for p in side.processes]
    traffic = dict.fromkeys(_traffic(side) for side in sides.values())
    return [
        *(f"{escape(name)}: {escape(describe(side.target))}" for name, side in sides.items()),
        *(f"traffic: {told}" for told in traffic),
        *(escape(note) for note in notes),
        _meanwhile([p.disturbance for p in processes]),
        *(f"[yellow]doubt:[/yellow] {escape(doubt)}" for doubt in doubts),
    ]


def _traffic(side: Measurement) -> str:
    w = side.workload
    callers = f"{w.concurrency} caller{'s' * (w.concurrency != 1)}"
    how = {
        "closed": f"closed loop, {callers}",
        "poisson": f"open loop, {w.rate or 0:g} requests a second at random (Poisson), {callers}",
        "constant": f"open loop, {w.rate or 0:g} requests a second at equal distances, {callers}",
        "trace": f"open loop, a recorded trace of {len(w.trace):,} arrivals, {callers}",
    }[w.arrivals]
    pause = f", a pause of {time_label(w.gap)} before each call" if w.gap else ""
    return how + pause + ("; latency counts from the intended start" if w.open else "")


def describe(target: Target) -> str:
    """What ran, in one line."""
    if target.kind == "callable":
        return f"the callable {target.function}"
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


def _print_slowest(console: Console, side: Measurement) -> None:
    """The slowest inputs, where there is something to see: one of them takes longer than the median does."""
    if not side.slowest or side.slowest[0].median_s <= 1.2 * side.p50:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for head in ("slowest inputs", "median", "worst", "shapes", "values"):
        table.add_column(head)
    for slow in side.slowest:
        shapes = ", ".join(f"{n} {'x'.join(map(str, t.shape))}" for n, t in slow.tensors.items())
        values = "; ".join(_values(t.low, t.high, t.denormals, t.not_finite) for t in slow.tensors.values())
        table.add_row(
            f"number {slow.index}",
            time_label(slow.median_s),
            time_label(slow.worst_s),
            escape(shapes),
            values,
        )
    console.print()
    console.print(table)


def _values(low: float | None, high: float | None, denormals: int, not_finite: int) -> str:
    span = "" if low is None or high is None else f"{low:.3g} to {high:.3g}"
    odd = [f"{n:,} {what}" for n, what in ((denormals, "denormal"), (not_finite, "not finite")) if n]
    return ", ".join([*([span] if span else []), *odd])
