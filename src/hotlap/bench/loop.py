"""The timed loop: one caller, calls back to back, nothing allocated but what the target allocates."""

from __future__ import annotations

import gc
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter_ns
from typing import Any

import numpy as np
import numpy.typing as npt

from hotlap.bench.data import Feed

__all__ = ["Call", "closed_loop", "quiet_collector", "warm_up", "with_handicap"]

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


def warm_up(call: Call, feeds: Sequence[Feed], seconds: float) -> int:
    """Calls for so long, and at least every shape once and twice in all. Returns the shortest call in ns.

    Every shape: some providers compile for each one, at several times the cost of a call.
    """
    shapes = {tuple(a.shape for a in feed.values()): feed for feed in feeds}
    shortest = 1 << 62
    end = perf_counter_ns() + int(seconds * 1e9)
    due = list(shapes.values()) + [feeds[0]] * (MIN_WARM_CALLS - len(shapes))
    done = 0
    while done < len(due) or perf_counter_ns() < end:
        feed = due[done] if done < len(due) else feeds[done % len(feeds)]
        start = perf_counter_ns()
        call(feed)
        shortest = min(shortest, perf_counter_ns() - start)
        done += 1
    return max(1, shortest)


def closed_loop(call: Call, feeds: Sequence[Feed], seconds: float, shortest_ns: int) -> npt.NDArray[np.int64]:
    """Calls for so long, three times at least, the feeds in turn; the latency of each call.

    Args:
        call: answers one feed.
        feeds: one or more, each given in turn.
        seconds: how long.
        shortest_ns: the shortest call seen; it sets how much room is made beforehand.

    Returns:
        int64[calls], nanoseconds, in the order of the calls. The loop ends early when the room is full,
        which needs calls twice as fast as any before.
    """
    room = min(MOST_CALLS, 2 * int(seconds * 1e9) // shortest_ns + MIN_CALLS + 1)
    latencies = array("q", [-1]) * room  # written to, so that no page is touched first in the loop
    count, done = len(feeds), 0
    clock = perf_counter_ns
    end = clock() + int(seconds * 1e9)
    while True:
        feed = feeds[done % count]
        start = clock()
        call(feed)
        stop = clock()
        latencies[done] = stop - start
        done += 1
        if (stop >= end and done >= MIN_CALLS) or done == room:
            break
    return np.array(latencies[:done], dtype=np.int64)


def with_handicap(call: Call, share: float) -> Call:
    """The same call, followed by a busy wait of this share of its own time."""

    def slower(feed: Feed) -> Any:
        start = perf_counter_ns()
        answer = call(feed)
        now = perf_counter_ns()
        end = now + int((now - start) * share)
        while perf_counter_ns() < end:
            pass
        return answer

    return slower if share else call
