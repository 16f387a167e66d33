"""The table of `benchmarks.honesty`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Trial = dict[str, Any]
Row = tuple[str, str, str, bool | None]


def table(data: dict[str, Any]) -> str:
    lines = ["| what | measured | limit | kept |", "|---|---|---|---|"]
    words = {True: "yes", False: "**no**", None: ""}
    for part, rows in _ROWS.items():
        trials = [t for t in data["trials"] if t["part"] == part]
        found = rows(trials) if trials else [(_NAMES[part], "*not measured yet*", "", None)]
        lines += [f"| {what} | {told} | {limit} | {words[kept]} |" for what, told, limit, kept in found]
    return "\n".join(lines)


def _itself(trials: Sequence[Trial]) -> list[Row]:
    rows: list[Row] = []
    for model in dict.fromkeys(t["model"] for t in trials):
        mine = [t for t in trials if t["model"] == model]
        same = sum(t["same_within"] is not None for t in mine)
        told = f"{_false(mine)} of {len(mine)} claim a difference; {same} show the same within 2 %"
        name = f"{model} ({_ms(mine[0]['p50_s'])}) against itself"
        rows.append((name, f"{told}; {_span(mine)}{_void(mine)}", "", None))
    allowed = len(trials) // 10
    told = f"{_false(trials)} of {len(trials)} claim a difference"
    rows.append(("all of them against themselves", told, f"at most {allowed}", _false(trials) <= allowed))
    return rows


def _planted5(trials: Sequence[Trial]) -> list[Row]:
    found = sum(t["verdict"] == "slower" and not t["void"] for t in trials)
    longest = max(t["seconds"] for t in trials)
    wanted = len(trials) * 9 // 10
    told = f"found in {found} of {len(trials)}, {longest:.0f} s at most; {_span(trials)}{_void(trials)}"
    return [
        (_NAMES["planted5"], told, f"at least {wanted}, within 120 s", found >= wanted and longest <= 120)
    ]


def _planted10(trials: Sequence[Trial]) -> list[Row]:
    found = sum(t["verdict"] == "slower" and not t["void"] for t in trials)
    told = f"found in {found} of {len(trials)}; {_span(trials)}{_void(trials)}"
    wanted = len(trials) * 9 // 10
    return [(_NAMES["planted10"], told, f"at least {wanted}", found >= wanted)]


def _planted2(trials: Sequence[Trial]) -> list[Row]:
    reversed_ = sum(t["verdict"] == "faster" and not t["void"] for t in trials)
    found = sum(t["verdict"] == "slower" and not t["void"] for t in trials)
    told = f"called faster in {reversed_} of {len(trials)}, slower in {found}; {_span(trials)}{_void(trials)}"
    return [(_NAMES["planted2"], told, "never called faster", reversed_ == 0)]


def _neighbour(trials: Sequence[Trial]) -> list[Row]:
    allowed = len(trials) // 10
    told = f"{_false(trials)} of {len(trials)} claim a difference{_void(trials)}; {_span(trials)}"
    return [(_NAMES["neighbour"], told, f"at most {allowed}, or void", _false(trials) <= allowed)]


def _queue(trials: Sequence[Trial]) -> list[Row]:
    (one,) = trials
    rows: list[Row] = []
    for q, (measured, simulated, theory) in one["quantiles"].items():
        off = measured / simulated - 1
        told = f"{_ms(measured)}, simulated {_ms(simulated)} ({100 * off:+.1f} %)"
        told += f"; with other arrivals {_ms(theory)}"
        kept = None if q == "p99" else abs(off) <= 0.1
        rows.append((f"{_NAMES['queue']}, {q}", told, "" if kept is None else "within 10 %", kept))
    busy = f"busy for {100 * one['busy']:.0f} % of the time, {one['requests']:,} requests"
    # A queue that is hardly used, or overrun, agrees with anything.
    used = 0.6 <= one["busy"] <= 0.8
    return [(_NAMES["queue"], busy + _void(trials), "60 to 80 %", used), *rows]


def _stall(trials: Sequence[Trial]) -> list[Row]:
    (one,) = trials
    p99, simulated, alone = (_ms(one[k]) for k in ("p99_s", "p99_simulated_s", "p99_of_calls_s"))
    told = (
        f"{one['delayed']} of {one['requests']:,} requests delayed (simulated: {one['delayed_simulated']}); "
        f"p99 {p99} (simulated: {simulated}; of the calls alone: {alone})"
    )
    # A request at the end of the stall is 10 ms late by a hair or not.
    weight = abs(one["delayed"] - one["delayed_simulated"]) <= max(1, one["delayed_simulated"] // 10)
    close = abs(one["p99_s"] / one["p99_simulated_s"] - 1) <= 0.1
    return [(_NAMES["stall"], told, "as simulated, within 10 %", weight and close)]


def _overhead(trials: Sequence[Trial]) -> list[Row]:
    (one,) = trials
    period, inside, said = (f"{one[k] * 1e6:.3f} µs" for k in ("period_s", "p50_s", "said_s"))
    told = f"{period} a call, of which {inside} are in the latency; it says {said}"
    return [(_NAMES["overhead"], told, "under 0.3 µs", max(one["period_s"], one["said_s"]) < 0.3e-6)]


def _false(trials: Sequence[Trial]) -> int:
    """A void run claims nothing."""
    return sum(t["verdict"] != "no difference" and not t["void"] for t in trials)


def _void(trials: Sequence[Trial]) -> str:
    count = sum(t["void"] for t in trials)
    return f"; {count} void" if count else ""


def _span(trials: Sequence[Trial]) -> str:
    ratios = [t["ratio"] for t in trials]
    return f"ratios {min(ratios):.3f} to {max(ratios):.3f}"


def _ms(seconds: float) -> str:
    return f"{seconds * 1e6:.3g} µs" if seconds < 1e-3 else f"{seconds * 1e3:.3g} ms"


_NAMES = {
    "itself": "models against themselves",
    "planted10": "10 % slower",
    "planted5": "5 % slower",
    "planted2": "2 % slower",
    "neighbour": "against itself beside a busy program",
    "queue": "open loop at 70 % of capacity",
    "stall": "one stall of 200 ms, 100 requests a second",
    "overhead": "the harness, on a target that does nothing",
}
_ROWS: dict[str, Callable[[Sequence[Trial]], list[Row]]] = {
    "itself": _itself,
    "planted10": _planted10,
    "planted5": _planted5,
    "planted2": _planted2,
    "neighbour": _neighbour,
    "queue": _queue,
    "stall": _stall,
    "overhead": _overhead,
}
