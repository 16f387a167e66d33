"""What does a call cost beside the model? hotlap against ONNX Runtime's own run on the same session."""

from __future__ import annotations

import random
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import hotlap
from hotlap.bench.loop import quiet_collector
from hotlap.bench.stats import bootstrap_ratio
from tests import tiny

CLAIM = (
    "`run`, its checks included, takes at most 0.75 of `session.run` on a model of 16 floats, 0.45 with 64 "
    "inputs, and adds nothing that shows with large inputs and slow models; `step` takes at most half; four "
    "threads share one Runner, always right, at no less than the bare session's rate."
)
METHOD = (
    "One process, one session of one thread; the bare side is `session.run(None, feed)` with the feed ready. "
    "Both sides take turns of some calls in random order; every call gets arrays that no call has seen. The "
    "ratio of a round is that of its two turns; the median of all rounds, its 95 % interval by bootstrap. "
    "`step` has its input written before the clock starts, as a producer would write it anywhere. Against "
    "itself the bare side shows what the noise is."
)

Feed = dict[str, Any]
Turn = Callable[[Sequence[Feed]], None]
SHAPES = range(1, 25)
THREADS = 4


def main(quick: bool) -> dict[str, Any]:
    rounds = 15 if quick else 400
    with tempfile.TemporaryDirectory() as folder:
        cases = [case for make in _CASES for case in make(Path(folder), rounds)]
        threads = _threads(Path(folder), quick)
    return {"cases": cases, "threads": threads}


# ── one thread ────────────────────────────────────────────────────────────────────────────────────────


def _mlp(folder: Path, rounds: int) -> Iterator[dict[str, Any]]:
    with _opened(folder, tiny.mlp()) as runner:
        feeds = _random({"x": (1, 16)}, 200)
        yield _case("16-float MLP, run", 0.75, runner, feeds, _run(runner), rounds)
        yield _case("16-float MLP, step", 0.5, runner, feeds, _step(runner, feeds()[0]), rounds)
        yield _case("16-float MLP, borrow", None, runner, feeds, _borrow(runner), rounds)
        yield _case("16-float MLP, the bare side again", None, runner, feeds, _bare(runner), rounds)


def _many(folder: Path, rounds: int) -> Iterator[dict[str, Any]]:
    with _opened(folder, tiny.many_inputs(64)) as runner:
        feeds = _random({f"x{n}": (4,) for n in range(64)}, 20)
        yield _case("64 inputs, run", 0.45, runner, feeds, _run(runner), rounds)
        yield _case("64 inputs, step", None, runner, feeds, _step(runner, feeds()[0]), rounds)


def _large(folder: Path, rounds: int) -> Iterator[dict[str, Any]]:
    """A model that reads a corner of its input: what is left is the way there."""
    built = tiny.model(
        [tiny.node("Slice", ["x", "from", "to"], ["y"])],
        [tiny.info("x", 1, ["N"])],
        [tiny.info("y", 1, [16])],
        {"from": np.array([0]), "to": np.array([16])},
    )
    with _opened(folder, built) as runner:
        for size, count, share in (("256 KB", 20, 1), ("10 MB", 6, 4)):
            floats = int(size.split()[0]) * (2**20 if "MB" in size else 2**10) // 4
            feeds = _random({"x": (floats,)}, count)
            yield _case(f"{size} in, run", 1.02, runner, feeds, _run(runner), max(12, rounds // share))


def _slow(folder: Path, rounds: int) -> Iterator[dict[str, Any]]:
    with _opened(folder, tiny.mlp(features=512, hidden=8192, classes=512)) as runner:
        rows = _rows_for(runner, 4e-3)
        feeds = _random({"x": (rows, 512)}, 2)
        yield _case("4 ms model, run", 1.01, runner, feeds, _run(runner), max(12, rounds // 4))


def _lent(folder: Path, rounds: int) -> Iterator[dict[str, Any]]:
    built = tiny.model(
        [tiny.node("Relu", ["x"], ["y"])], [tiny.info("x", 1, ["N"])], [tiny.info("y", 1, ["N"])]
    )
    with _opened(folder, built) as runner:
        feeds = _random({"x": (10 * 2**18,)}, 3)

        def and_copy(turn: Sequence[Feed]) -> None:
            run = runner.run
            for feed in turn:
                run(feed)["y"].copy()

        rounds = max(12, rounds // 8)
        yield _case("10 MB out, borrow : run and copy", 0.7, runner, feeds, _borrow(runner), rounds, and_copy)
        yield _case("10 MB in and out, run", None, runner, feeds, _run(runner), rounds)


_CASES = (_mlp, _many, _large, _slow, _lent)


@contextmanager
def _opened(folder: Path, model: Any) -> Iterator[hotlap.Runner]:
    with hotlap.open(tiny.save(model, folder / "model.onnx"), threads=1) as runner:
        yield runner


def _random(shapes: dict[str, tuple[int, ...]], count: int) -> Callable[[], list[Feed]]:
    rng = np.random.default_rng(0)
    first = {n: rng.standard_normal(s).astype(np.float32) for n, s in shapes.items()}
    return lambda: [{n: a.copy() for n, a in first.items()} for _ in range(count)]


def _rows_for(runner: hotlap.Runner, seconds: float) -> int:
    """So many rows that a call takes about so long."""
    x = np.ones((16, 512), np.float32)
    runner(x)
    start = perf_counter()
    for _ in range(5):
        runner(x)
    return max(1, round(16 * seconds / ((perf_counter() - start) / 5)))


def _bare(runner: hotlap.Runner) -> Turn:
    def turn(feeds: Sequence[Feed]) -> None:
        run = runner.session.run
        for feed in feeds:
            run(None, feed)

    return turn


def _run(runner: hotlap.Runner) -> Turn:
    def turn(feeds: Sequence[Feed]) -> None:
        run = runner.run
        for feed in feeds:
            run(feed)

    return turn


def _borrow(runner: hotlap.Runner) -> Turn:
    def turn(feeds: Sequence[Feed]) -> None:
        borrow = runner.borrow
        for feed in feeds:
            with borrow(feed):
                pass

    return turn


def _step(runner: hotlap.Runner, feed: Feed) -> Turn:
    step = runner.step({n: a.shape for n, a in feed.items()})
    for name, array in feed.items():
        step.inputs[name][...] = array

    def turn(feeds: Sequence[Feed]) -> None:
        for _ in feeds:
            step()

    return turn


def _case(
    name: str,
    limit: float | None,
    runner: hotlap.Runner,
    feeds: Callable[[], list[Feed]],
    ours: Turn,
    rounds: int,
    theirs: Turn | None = None,
) -> dict[str, Any]:
    theirs = theirs or _bare(runner)
    rng = random.Random(0)
    times: dict[Turn, list[float]] = {ours: [], theirs: []}
    for side in times:
        for _ in range(3):
            side(feeds())
    with quiet_collector():
        for _ in range(rounds):
            for side in rng.sample([ours, theirs], 2):
                fresh = feeds()
                start = perf_counter()
                side(fresh)
                times[side].append((perf_counter() - start) / len(fresh))
    logs = np.log(times[ours]) - np.log(times[theirs])
    ratio = bootstrap_ratio(logs, np.zeros_like(logs))
    return {
        "case": name,
        "limit": limit,
        "ratio": [round(r, 4) for r in ratio],
        "ours_us": round(1e6 * float(np.median(times[ours])), 2),
        "bare_us": round(1e6 * float(np.median(times[theirs])), 2),
    }


# ── four threads ──────────────────────────────────────────────────────────────────────────────────────


def _threads(folder: Path, quick: bool) -> dict[str, Any]:
    calls, rounds, turn = (2_000, 4, 400) if quick else (100_000, 40, 5_000)
    with _opened(folder, tiny.add()) as runner:
        wrong = _wrong_answers(runner, calls)
        session = runner.session
        sides: dict[str, Callable[[Feed], Any]] = {
            "ours": runner.run,
            "bare": lambda feed: session.run(None, feed),
        }
        rates: dict[str, list[float]] = {side: [] for side in sides}
        rng = random.Random(0)
        for _ in range(rounds):
            for side in rng.sample(list(sides), 2):
                rates[side].append(_rate(sides[side], turn))
    logs = np.log(rates["ours"]) - np.log(rates["bare"])
    ratio = bootstrap_ratio(logs, np.zeros_like(logs))
    return {
        "calls": calls,
        "wrong": wrong,
        "ratio": [round(r, 4) for r in ratio],
        "ours_per_s": round(float(np.median(rates["ours"]))),
        "bare_per_s": round(float(np.median(rates["bare"]))),
    }


def _feed(thread: int, number: int) -> Feed:
    rows = SHAPES[(number * (thread + 1)) % len(SHAPES)]
    return {"x": np.full((rows, 4), thread * 1_000_000 + number, np.float32)}


def _wrong_answers(runner: hotlap.Runner, calls: int) -> int:
    wrong = [0] * THREADS

    def work(thread: int) -> None:
        for number in range(calls // THREADS):
            feed = _feed(thread, number)
            y = runner.run(feed)["y"]
            if y.shape != feed["x"].shape or (y != 2 * feed["x"]).any():
                wrong[thread] += 1

    _together(work)
    return sum(wrong)


def _rate(call: Callable[[Feed], Any], calls: int) -> float:
    """Calls a second, all threads together."""
    feeds = [[_feed(t, n) for n in range(calls // THREADS)] for t in range(THREADS)]

    def work(thread: int) -> None:
        for feed in feeds[thread]:
            call(feed)

    seconds = _together(work)
    return calls / seconds


def _together(work: Callable[[int], None]) -> float:
    """Seconds from the first thread's start to the last one's end; the threads are the same each time."""
    gate = threading.Barrier(THREADS)

    def timed(thread: int) -> tuple[float, float]:
        gate.wait()
        start = perf_counter()
        work(thread)
        return start, perf_counter()

    starts, ends = zip(*_POOL.map(timed, range(THREADS)), strict=True)
    return float(max(ends) - min(starts))


_POOL = ThreadPoolExecutor(THREADS)


def table(data: dict[str, Any]) -> str:
    lines = [
        "| case | hotlap | bare | ratio of times | limit | kept |",
        "|---|---|---|---|---|---|",
    ]
    for case in data["cases"]:
        ratio, low, high = case["ratio"]
        limit = case["limit"]
        kept = "" if limit is None else "yes" if ratio <= limit else "**no**"
        told = f"{ratio:.3f} ({low:.3f} to {high:.3f})"
        us = (f"{case['ours_us']:,.2f} µs", f"{case['bare_us']:,.2f} µs")
        lines.append(f"| {case['case']} | {us[0]} | {us[1]} | {told} | {limit or ''} | {kept} |")
    threads = data["threads"]
    ratio, low, high = threads["ratio"]
    rates = (f"{threads['ours_per_s']:,}/s", f"{threads['bare_per_s']:,}/s")
    told = f"{ratio:.3f} ({low:.3f} to {high:.3f}) of the rate"
    kept = "yes" if ratio >= 1 and not threads["wrong"] else "**no**"
    what = f"four threads, changing shapes, {threads['wrong']} of {threads['calls']:,} answers wrong"
    lines.append(f"| {what} | {rates[0]} | {rates[1]} | {told} | at least 1 | {kept} |")
    return "\n".join(lines)
