"""What `benchmarks/serve.py` found, as tables: the claims beside their limits, then every server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from hotlap.bench.doubts import DISTURBED, VOID
from hotlap.bench.stats import Ratio, bootstrap_ratio

OURS, BINARY, BARE, FLOOR = "hotlap", "hotlap, binary", "the bare session", "a socket alone"
KNOWN = (0.3, 0.6)
"""MLServer's requests a second with one client, of FastAPI's, on machines where both were measured before."""

Trial = dict[str, Any]
Shown = Callable[[float], str]


class Row(NamedTuple):
    """One line. `kept` is None where nothing was measured or promised."""

    what: str
    ours: str = "*not measured*"
    beside: str = ""
    ratio: str = ""
    limit: str = ""
    kept: bool | None = None


class Bound(NamedTuple):
    """What a number may be at most or, with `least`, at least; `shown` writes it."""

    value: float
    least: bool = False
    shown: Shown = str

    def keeps(self, found: float) -> bool:
        return found >= self.value if self.least else found <= self.value

    def __str__(self) -> str:
        return f"{'at least' if self.least else 'at most'} {self.shown(self.value)}"


def table(data: dict[str, Any]) -> str:
    """Both tables; before them why a run is void, after them what was skipped."""
    trials = data["trials"]
    doubt = void(trials)
    lines = [f"**Void: {doubt}; measure again in quiet.**", ""] if doubt else []
    lines += ["| what | hotlap | beside it | ratio | limit | kept |", "|---|---|---|---|---|---|"]
    for row in (*_mlp(trials), *_others(trials)):
        kept = "" if row.kept is None else "void" if doubt else "yes" if row.kept else "**no**"
        lines.append(f"| {row.what} | {row.ours} | {row.beside} | {row.ratio} | {row.limit} | {kept} |")
    lines += ["", *_servers(data), _stands_on(data)]
    for name, why in data["skipped"].items():
        lines += ["", f"{name}: skipped, because {why}."]
    return "\n".join(lines)


def servers(data: dict[str, Any]) -> str:
    """Every server on the small model, alone."""
    doubt = void(data["trials"])
    return f"**Void: {doubt}; measure again in quiet.**" if doubt else "\n".join(_servers(data))


def void(trials: Sequence[Trial]) -> str:
    """Why nothing can be claimed from these; empty where something can."""
    shares = [share or 0.0 for share in _foreign(trials)]
    disturbed = float(np.mean([share > DISTURBED for share in shares])) if shares else 0.0
    if disturbed > VOID:
        shares_told = f"more than {100 * DISTURBED:.0f} % of the CPUs in {100 * disturbed:.0f} % of the spans"
        return f"other work took {shares_told}"
    fastapi, mlserver = (_values(trials, "mlp", s, "c1", "per_s") for s in ("FastAPI", "MLServer"))
    if not fastapi or not mlserver:
        measured = any(t["part"] == "mlp" for t in trials)
        return "FastAPI or MLServer, which show whether it measures right, is missing" if measured else ""
    found = bootstrap_ratio(np.log(mlserver), np.log(fastapi)).value
    if KNOWN[0] <= found <= KNOWN[1]:
        return ""
    known = f"{KNOWN[0]} to {KNOWN[1]} is known"
    return f"MLServer answers {found:.2f} of FastAPI's requests a second, where {known}"


def _mlp(trials: Sequence[Trial]) -> Iterator[Row]:
    waits, takes, answers = ("c1", "p50_us"), ("c32", "cpu_us"), ("c32", "per_s")
    wanted: tuple[tuple[str, tuple[str, str], str, Bound | None, Shown], ...] = (
        ("one client, p50", waits, "FastAPI", Bound(0.5), _us),
        ("one client, p50", waits, "MLServer", Bound(0.25), _us),
        ("32 clients, CPU time a request", takes, "FastAPI", Bound(0.25), _us),
        ("32 clients, CPU time a request", takes, "MLServer", Bound(0.2), _us),
        ("32 clients, requests a second", answers, "FastAPI", Bound(2.5, least=True), _count),
    )
    for what, key, rival, bound, shown in wanted:
        ours, theirs = (_values(trials, "mlp", s, *key) for s in (OURS, rival))
        yield _compared(f"MLP, {what}: {rival}", ours, theirs, bound, shown)
    cpu = _values(trials, "mlp", OURS, *takes)
    yield _alone("MLP, 32 clients, CPU time a request", cpu, Bound(60, shown=_us))


def _others(trials: Sequence[Trial]) -> Iterator[Row]:
    laps = [[lap["p50s_us"] for lap in t["laps"]] for t in trials if t["part"] == "minilm"]
    what = "MiniLM, 64 tokens, one client, p50"
    limit = Bound(1.03)
    yield _in_turn(f"{what}, JSON: {BARE}", laps, OURS, BARE, limit)
    yield _in_turn(f"{what}, binary: {BARE}", laps, BINARY, BARE, limit)
    yield _in_turn(f"{what}, {FLOOR} in hotlap's place: {BARE}", laps, FLOOR, BARE)
    for rival in (FLOOR, "FastAPI", "MLServer"):
        yield _in_turn(f"{what}, JSON: {rival}", laps, OURS, rival)
    shared = [[1e6 * t[key] for t in trials if t["part"] == "shared"] for key in ("memory_s", "http_s")]
    yield _compared("600 KB through shared memory, p50: over HTTP", *shared, Bound(0.45), _us)
    idle = [t["share"] for t in trials if t["part"] == "idle"]
    yield _alone("MLP server, CPU while idle", idle, Bound(0.01, shown=_share))
    memory = _values(trials, "mlp", OURS, "memory_bytes")
    yield _alone("MLP server, memory after the load", memory, Bound(120e6, shown=_mb))
    yield _alone(
        "from command to first answer", _values(trials, "mlp", OURS, "start_s"), Bound(1.5, shown=_s)
    )


def _in_turn(
    what: str,
    rounds: Sequence[Sequence[dict[str, float]]],
    ours: str,
    theirs: str,
    bound: Bound | None = None,
) -> Row:
    """Of sides that took turns: a round counts as the median of its laps' ratios, since within a lap the
    machine was the same for both."""
    there = [[lap for lap in laps if ours in lap and theirs in lap] for laps in rounds]
    there = [laps for laps in there if laps]
    if not there:
        return Row(what)
    logs = [float(np.median([np.log(lap[ours] / lap[theirs]) for lap in laps])) for laps in there]
    ratio = bootstrap_ratio(logs, [0.0] * len(logs))
    medians = (
        _us(float(np.median([lap[side] for laps in there for lap in laps]))) for side in (ours, theirs)
    )
    return _judged(what, medians, ratio, bound, digits=3)


def _compared(
    what: str,
    ours: Sequence[float],
    theirs: Sequence[float],
    bound: Bound | None,
    shown: Shown,
) -> Row:
    if not ours or not theirs:
        return Row(what)
    ratio = bootstrap_ratio(np.log(ours), np.log(theirs))
    medians = (shown(float(np.median(values))) for values in (ours, theirs))
    return _judged(what, medians, ratio, bound, digits=2)


def _judged(what: str, medians: Iterable[str], ratio: Ratio, bound: Bound | None, *, digits: int) -> Row:
    told = f"{ratio.value:.{digits}f} ({ratio.low:.{digits}f} to {ratio.high:.{digits}f})"
    limit, kept = ("", None) if bound is None else (str(bound), bound.keeps(ratio.value))
    return Row(what, *medians, told, limit, kept)


def _alone(what: str, values: Sequence[float], bound: Bound) -> Row:
    if not values:
        return Row(what)
    found = float(np.median(values))
    return Row(what, bound.shown(found), limit=str(bound), kept=bound.keeps(found))


def _servers(data: dict[str, Any]) -> Iterator[str]:
    """Every server on the small model, medians over its processes."""
    columns: tuple[tuple[str, tuple[str, ...], Shown], ...] = (
        ("one client, p50", ("c1", "p50_us"), _us),
        ("p99", ("c1", "p99_us"), _us),
        ("32 clients, requests a second", ("c32", "per_s"), _count),
        ("p50", ("c32", "p50_us"), _us),
        ("CPU time a request", ("c32", "cpu_us"), _us),
        ("memory", ("memory_bytes",), _mb),
        ("first answer", ("start_s",), _s),
    )
    trials = data["trials"]
    if not any(t["part"] == "mlp" for t in trials):
        return
    yield f"| MLP, every server | {' | '.join(name for name, _, _ in columns)} |"
    yield "|---" * (1 + len(columns)) + "|"
    for server in dict.fromkeys(t["server"] for t in trials if t["part"] == "mlp"):
        medians = (shown(float(np.median(_values(trials, "mlp", server, *key)))) for _, key, shown in columns)
        yield f"| {server} | {' | '.join(medians)} |"
    yield ""


def _stands_on(data: dict[str, Any]) -> str:
    told = [f"{server}: {', '.join(map(' '.join, on.items()))}" for server, on in data["versions"].items()]
    others = max((share for share in _foreign(data["trials"]) if share is not None), default=None)
    noise = "unknown" if others is None else f"at most {_share(others)} in a span"
    return f"Client: {data['client'] or 'none'}. {'. '.join(told)}. Other work on the two CPUs: {noise}."


def _values(trials: Sequence[Trial], part: str, server: str, *key: str) -> list[float]:
    """The numbers under that key of every process of a server."""
    found = [t for t in trials if t["part"] == part and t["server"] == server]
    for name in key:
        found = [one[name] for one in found]
    return found  # type: ignore[return-value]


def _foreign(trials: Sequence[Trial]) -> list[float | None]:
    """What others took of the CPUs, in every span of these."""
    spans = [span for t in trials for span in (t, *t.values(), *t.get("laps", ()))]
    return [span["foreign"] for span in spans if isinstance(span, dict) and "foreign" in span]


def _us(us: float) -> str:
    return f"{us:,.0f} µs"


def _count(count: float) -> str:
    return f"{count:,.0f}"


def _share(share: float) -> str:
    return f"{100 * share:.1f} %"


def _mb(size: float) -> str:
    return f"{size / 1e6:.0f} MB"


def _s(seconds: float) -> str:
    return f"{seconds:.2f} s"
