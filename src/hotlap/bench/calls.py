"""What does a call cost beside the model: the ways to call one session, side by side, in this process.

Here one process is right: all ways share the session, and are timed in turn within milliseconds, so whatever
disturbs one disturbs the others.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from time import perf_counter_ns
from typing import Any

import msgspec
import numpy as np

from hotlap.bench.loop import quiet_collector
from hotlap.bench.stats import bootstrap_ratio
from hotlap.errors import HotlapError
from hotlap.runtime import Runner, ort

__all__ = ["Calls", "Way", "compare_calls"]

Feed = dict[str, Any]
Call = Callable[[Feed], Any]

ROUNDS = 200
FEWEST_ROUNDS = 12
SLICE_NS = 200_000
"""One turn of one way, at least a call: long against the clock, short against other work on the machine."""
POOL = 64
POOL_BYTES = 256 * 2**20


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """One way to call the session.

    Attributes:
        name, what: for people.
        seconds: median across rounds of the mean of a round's calls; None where the way is not possible.
        ratio, low, high: of its time to that of `run(None, feed)`, with the 95 % interval; below 1 is faster.
        note: why it is not possible, or what to know.
    """

    name: str
    what: str
    seconds: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    note: str = ""


class Calls(msgspec.Struct, frozen=True, kw_only=True):
    """All ways on one model. `path` and `why`: how the Runner itself calls it."""

    model: str
    path: str
    why: str
    rounds: int
    ways: tuple[Way, ...]


def compare_calls(runner: Runner, feeds: Sequence[Feed], seconds: float = 4.0, seed: int = 0) -> Calls:
    """Times every way in turn, in an order that is drawn anew for each round.

    Args:
        runner: an open model; its session is the one that all ways call.
        feeds: one or more, all of one signature. Each call gets arrays that it has not just seen.
        seconds: about how long, all ways together.
        seed: of the order and of the resampling.

    Raises:
        HotlapError: the model does not run on the feeds.
    """
    pool = _pool(feeds)
    calls, notes = _ways(runner, pool[0])
    with quiet_collector():
        times, rounds = _timed(calls, pool, seconds, random.Random(seed))
    base = np.log(times["run(None, feed)"])
    ways = []
    for name, what in _NAMES.items():
        if name in notes:
            ways.append(Way(name=name, what=what, note=notes[name]))
            continue
        mine = np.log(times[name])
        found = bootstrap_ratio(mine - base, np.zeros_like(base), seed)
        ways.append(
            Way(
                name=name,
                what=what,
                seconds=math.exp(float(np.median(mine))) / 1e9,
                ratio=found.value,
                low=found.low,
                high=found.high,
            )
        )
    return Calls(
        model=str(runner.model_path),
        path=str(runner.path),
        why=runner.path.why,
        rounds=rounds,
        ways=tuple(ways),
    )


_NAMES = {
    "run(None, feed)": "what most programs do: the measure of the others",
    "run(None, feed) again": "the same once more: what the noise is",
    "run(names, feed)": "with the outputs' names",
    "run_with_ort_values": "a value of ORT's for each input, made for the call",
    "fresh binding": "io_binding, bind, run, copy_outputs_to_cpu, all for the call",
    "copy into bound buffers": "np.copyto into arrays that are bound for good; results are overwritten",
    "prebound": "run_with_iobinding alone: inputs are there already, results are overwritten",
    "hotlap run": "runner.run(feed): checked, results are yours",
    "hotlap borrow": "with runner.borrow(feed): checked, results hold for the block",
    "hotlap step": "runner.step(shapes): inputs are there already, results hold until the next",
}


def _pool(feeds: Sequence[Feed]) -> list[Feed]:
    size = sum(np.asarray(a).nbytes for a in feeds[0].values())
    count = max(2, min(POOL, POOL_BYTES // max(size, 1)))
    return [
        {n: np.array(a) for n, a in feed.items()} for feed, _ in zip(cycle(feeds), range(count), strict=False)
    ]


def _ways(runner: Runner, feed: Feed) -> tuple[dict[str, Call], dict[str, str]]:
    """The ways that work on this model, and why the others do not."""
    session = runner.session
    names = [s.name for s in runner.outputs]

    def plain(feed: Feed) -> Any:
        return session.run(None, feed)

    made: dict[str, Callable[[], Call]] = {
        "run(None, feed)": lambda: plain,
        "run(None, feed) again": lambda: plain,
        "run(names, feed)": lambda: lambda f: session.run(names, f),
        "run_with_ort_values": lambda: _with_values(session, names),
        "fresh binding": lambda: _fresh_binding(session, names),
        "copy into bound buffers": lambda: _bound(session, feed, copy=True),
        "prebound": lambda: _bound(session, feed, copy=False),
        "hotlap run": lambda: runner.run,
        "hotlap borrow": lambda: _borrow(runner),
        "hotlap step": lambda: _step(runner, feed),
    }
    runner.run(feed)
    calls, notes = {}, {}
    refusals: tuple[type[Exception], ...] = (HotlapError, *ort.exceptions())
    for name, make in made.items():
        try:
            call = make()
            for _ in range(3):
                call(feed)
        except refusals as error:
            notes[name] = ort.clear_line(str(error))
        else:
            calls[name] = call
    return calls, notes


def _with_values(session: Any, names: list[str]) -> Call:
    make = ort.load().OrtValue.ortvalue_from_numpy

    def call(feed: Feed) -> Any:
        values = session.run_with_ort_values(names, {n: make(a) for n, a in feed.items()})
        return [v.numpy() for v in values]

    return call


def _fresh_binding(session: Any, names: list[str]) -> Call:
    def call(feed: Feed) -> Any:
        binding = session.io_binding()
        for name, array in feed.items():
            binding.bind_cpu_input(name, array)
        for name in names:
            binding.bind_output(name)
        session.run_with_iobinding(binding)
        return binding.copy_outputs_to_cpu()

    return call


def _bound(session: Any, feed: Feed, copy: bool) -> Call:
    """Everything bound once, as articles show it; outputs of the shapes that this feed gives."""
    binding = session.io_binding()
    make = ort.load().OrtValue.ortvalue_from_numpy
    buffers = {name: np.array(array) for name, array in feed.items()}
    nodes = [o.name for o in session.get_outputs()]
    results = [np.array(a) for a in session.run(nodes, feed)]
    kept = [make(a) for a in (*buffers.values(), *results)]
    for name, value in zip((*buffers, *nodes), kept, strict=True):
        if name in buffers:
            binding.bind_ortvalue_input(name, value)
        else:
            binding.bind_ortvalue_output(name, value)

    def call(feed: Feed) -> Any:
        if copy:
            for name, array in feed.items():
                np.copyto(buffers[name], array)
        session.run_with_iobinding(binding)
        return kept and results

    return call


def _borrow(runner: Runner) -> Call:
    def call(feed: Feed) -> None:
        with runner.borrow(feed):
            pass

    return call


def _step(runner: Runner, feed: Mapping[str, Any]) -> Call:
    step = runner.step({n: np.shape(a) for n, a in feed.items()})
    for name, array in feed.items():
        step.inputs[name][...] = array
    return lambda feed: step()


def _timed(
    calls: Mapping[str, Call], pool: Sequence[Feed], seconds: float, rng: random.Random
) -> tuple[dict[str, list[float]], int]:
    """Nanoseconds a call, one number for each round."""
    names = list(calls)
    start = perf_counter_ns()
    calls[names[0]](pool[0])
    each = max(1, SLICE_NS // max(1, perf_counter_ns() - start))
    times: dict[str, list[float]] = {name: [] for name in names}
    feeds = cycle(pool)
    end = perf_counter_ns() + int(seconds * 1e9)
    rounds = 0
    while rounds < FEWEST_ROUNDS or (rounds < ROUNDS and perf_counter_ns() < end):
        rng.shuffle(names)
        for name in names:
            call, turn = calls[name], [next(feeds) for _ in range(each)]
            begin = perf_counter_ns()
            for feed in turn:
                call(feed)
            times[name].append((perf_counter_ns() - begin) / each)
        rounds += 1
    return times, rounds
