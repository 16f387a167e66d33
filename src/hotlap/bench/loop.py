"""The timed loop: one caller, calls back to back, nothing allocated but what the target allocates."""

from __future__ import annotations

import gc
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hotlap.bench.data import Feed
from hotlap.bench.meter import Meter

__all__ = [
    "Call",
    "Warmth",
    "closed_loop",
    "quiet_collector",
    "room_for",
    "shape_of",
    "warm_up",
    "with_handicap",
]

Call = Callable[[Feed], Any]

MIN_WARM_CALLS = 2
MIN_CALLS = 3
"""Measured at least so often, however slow the target: one call alone is no median."""
MOST_CALLS = 8_000_000
"""Room for the latencies is made before the loop starts; 64 MB of it at most."""


@contextmanager
def quiet_collector() -> Iterator[None]:
    """Python's garbage collector off, and what lives now moved out of its sight."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


class Warmth(NamedTuple):
    """What the calls of a warm-up took.

    Attributes:
        shortest_ns: the shortest call, 1 at least.
        first_ns: each shape's first call, by `shape_of`, in the order in which they came.
        latencies_ns: every call, in order, with its shape: (shape, nanoseconds).
    """

    shortest_ns: int
    first_ns: dict[str, int]
    latencies_ns: list[tuple[str, int]]


def shape_of(feed: Feed) -> str:
    """A feed's shapes in one line, ``"ids 1x16, mask 1x16"``."""
    return ", ".join(f"{name} {'x'.join(map(str, np.shape(a))) or 'scalar'}" for name, a in feed.items())


def warm_up(call: Call, feeds: Sequence[Feed], seconds: float) -> Warmth:
    """Calls for so long, and at least every shape once and twice in all.

    Every shape: some providers compile for each one, at several times the cost of a call.
    """
    named = [(shape_of(feed), feed) for feed in feeds]
    shapes = dict(named)
    end = perf_counter_ns() + int(seconds * 1e9)
    due = list(shapes.items()) + [named[0]] * (MIN_WARM_CALLS - len(shapes))
    first: dict[str, int] = {}
    latencies: list[tuple[str, int]] = []
    while len(latencies) < len(due) or perf_counter_ns() < end:
        done = len(latencies)
        shape, feed = due[done] if done < len(due) else named[done % len(named)]
        start = perf_counter_ns()
        call(feed)
        took = perf_counter_ns() - start
        first.setdefault(shape, took)
        latencies.append((shape, took))
    return Warmth(max(1, min(took for _, took in latencies)), first, latencies)


def room_for(seconds: float, shortest_ns: int, iterations: int | None = None) -> int:
    """For how many calls room is made beforehand: twice as many as the shortest call seen leaves time for."""
    expected = 2 * int(seconds * 1e9) // shortest_ns + MIN_CALLS + 1
    return min(MOST_CALLS, expected if iterations is None else iterations)


def closed_loop(
    call: Call,
    feeds: Sequence[Feed],
    seconds: float,
    shortest_ns: int,
    iterations: int | None = None,
    meter: Meter | None = None,
) -> npt.NDArray[np.int64]:
    """Calls for so long, three times at least, the feeds in turn; the latency of each call.

    Args:
        call: answers one feed.
        feeds: one or more, each given in turn.
        seconds: how long.
        shortest_ns: the shortest call seen; it sets how much room is made beforehand.
        iterations: exactly so many calls, however long they take.
        meter: begun and ended right around the calls.

    Returns:
        int64[calls], nanoseconds, in the order of the calls. The loop ends early when the room is full,
        which needs calls twice as fast as any before.
    """
    room = room_for(seconds, shortest_ns, iterations)
    latencies = array("q", [-1]) * room  # written to, so that no page is touched first in the loop
    clock = perf_counter_ns
    meter = meter or Meter()
    meter.begin()
    end = clock() + (int(seconds * 1e9) if iterations is None else 1 << 62)
    done = 0
    for done, feed in zip(range(room), cycle(feeds), strict=False):
        start = clock()
        call(feed)
        stop = clock()
        latencies[done] = stop - start
        if stop >= end and done >= MIN_CALLS - 1:
            break
    meter.end()
    return np.array(latencies[: done + 1], dtype=np.int64)


def with_handicap(call: Call, share: float) -> Call:
    """The same call, followed by a busy wait of this share of its own time.

    A short wait is counted out, since one reading of the clock takes as long as 2 % of a call of
    microseconds; a long one is timed. A share of next to nothing costs what waiting costs, and waits for
    nothing.
    """
    if not share:
        return call
    tick = _tick_ns()

    def slower(feed: Feed) -> Any:
        start = perf_counter_ns()
        answer = call(feed)
        now = perf_counter_ns()
        wait = (now - start) * share
        if wait < _COUNTED_NS:
            for _ in range(int(wait / tick)):
                pass
            return answer
        end = now + int(wait)
        while perf_counter_ns() < end:
            pass
        return answer

    return slower


_COUNTED_NS = 10_000


def _tick_ns() -> float:
    """How long one turn of an empty loop takes; the fastest of some runs, the others were disturbed."""
    runs = []
    for _ in range(20):
        start = perf_counter_ns()
        for _ in range(2000):
            pass
        runs.append((perf_counter_ns() - start) / 2000)
    return max(min(runs), 0.1)
