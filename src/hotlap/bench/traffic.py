"""Many callers, pauses, and open loops: what `loop` does not do, at a little more cost a call.

The clock and the sleep can be given, so that a scripted target on a fake clock makes every number exact.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
from array import array
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hotlap.bench.arrivals import Times
from hotlap.bench.data import Feed
from hotlap.bench.loop import MIN_CALLS, Call, closed_loop, room_for
from hotlap.bench.meter import Meter
from hotlap.bench.workload import Workload

__all__ = ["Traffic", "callers", "fine_sleep", "open_loop", "overhead", "run_traffic"]

Ns = npt.NDArray[np.int64]
Clock = Callable[[], int]
Sleep = Callable[[float], object]

LEAD_NS = 2_000_000
"""The first request of an open loop is due so long after the callers were started."""
_NO_OP_CALLS, _NO_OP_RUNS = 4000, 5


class Traffic(NamedTuple):
    """What the calls of a loop took, in nanoseconds.

    Attributes:
        latencies: closed loop: each call. Open loop: from the intended start to the answer.
        feeds: which of the feeds each one was.
        services: open loop: each call alone, without waiting for a caller; None in a closed loop, where
            it is the latency.
        late: open loop: how much too late the callers that were free began; empty in a closed loop.
    """

    latencies: Ns
    feeds: Ns
    services: Ns | None
    late: Ns


def run_traffic(
    call: Call,
    feeds: Sequence[Feed],
    workload: Workload,
    turn: int,
    shortest_ns: int,
    meter: Meter | None = None,
) -> Traffic:
    """The workload's traffic, once; `meter` is begun and ended right around it.

    Raises:
        UsageError: no request comes within the workload's seconds.
    """
    if workload.open:
        return open_loop(call, feeds, workload.times(turn), workload.concurrency, meter=meter)
    if workload.concurrency > 1 or workload.gap:
        return callers(call, feeds, workload, shortest_ns, meter=meter)
    latencies = closed_loop(call, feeds, workload.seconds, shortest_ns, workload.iterations, meter)
    return Traffic(latencies, _in_turn(len(latencies), 0, len(feeds)), None, np.empty(0, np.int64))


def callers(
    call: Call,
    feeds: Sequence[Feed],
    workload: Workload,
    shortest_ns: int,
    clock: Clock = perf_counter_ns,
    sleep: Sleep = time.sleep,
    meter: Meter | None = None,
) -> Traffic:
    """A closed loop of `Workload.concurrency` callers, each pausing `Workload.gap` before each of its calls.

    Each caller begins at another feed, so that they do not all send the same one at the same time.

    Returns:
        the calls caller by caller, each one's in order.
    """
    count, gap, seconds = workload.concurrency, workload.gap, workload.seconds
    shares = [
        None if workload.iterations is None else (workload.iterations + count - 1 - n) // count
        for n in range(count)
    ]
    # A pause makes calls rarer, never more frequent.
    pace = shortest_ns + int(gap * 1e9)
    rooms = [array("q", [-1]) * room_for(seconds, pace, share) for share in shares]
    counts = [0] * count
    begins = [n * len(feeds) // count for n in range(count)]
    gate = threading.Barrier(count)
    end = [0]

    def caller(me: int) -> None:
        room, done, at, total = rooms[me], 0, begins[me], len(feeds)
        if gate.wait() == 0:
            end[0] = clock() + (int(seconds * 1e9) if workload.iterations is None else 1 << 62)
        gate.wait()
        while done < len(room):
            if gap:
                sleep(gap)
            feed = feeds[(at + done) % total]
            start = clock()
            call(feed)
            stop = clock()
            room[done] = stop - start
            done += 1
            counts[me] = done
            if stop >= end[0] and done >= MIN_CALLS:
                break

    meter = meter or Meter()
    meter.begin()
    _together(caller, count, gate)
    meter.end()
    latencies = [np.array(room[:done], np.int64) for room, done in zip(rooms, counts, strict=True)]
    order = [_in_turn(done, begin, len(feeds)) for done, begin in zip(counts, begins, strict=True)]
    return Traffic(np.concatenate(latencies), np.concatenate(order), None, np.empty(0, np.int64))


def open_loop(
    call: Call,
    feeds: Sequence[Feed],
    times: Times,
    concurrency: int = 1,
    clock: Clock = perf_counter_ns,
    sleep: Sleep = time.sleep,
    meter: Meter | None = None,
) -> Traffic:
    """Requests at times of their own, first come first served by `concurrency` callers.

    A free caller takes the next request, waits until it is due if it is early, and calls. One that is taken
    after it was due has waited for a caller, and its latency holds that wait: nothing is left out because the
    target was busy ("coordinated omission"). So it is a queue of `concurrency` servers.

    Args:
        call: answers one feed.
        feeds: one or more, each given in turn.
        times: seconds from the start, ascending: when each request is meant to start.
        concurrency: callers.
        clock, sleep: nanoseconds now; a pause of so many seconds.
        meter: begun and ended right around the requests.

    Returns:
        the requests in the order of their intended starts.
    """
    due = np.rint(np.asarray(times) * 1e9).astype(np.int64)
    total, count = len(due), len(feeds)
    taken, starts, stops = (array("q", [-1]) * total for _ in range(3))
    next_one = itertools.count().__next__
    meter = meter or Meter()
    meter.begin()
    origin = clock() + LEAD_NS
    dues: list[int] = (due + origin).tolist()

    def caller(_: int) -> None:
        while (n := next_one()) < total:
            intended = dues[n]
            now = taken[n] = clock()
            while now < intended:
                sleep((intended - now) / 1e9)
                now = clock()
            starts[n] = now
            call(feeds[n % count])
            stops[n] = clock()

    _together(caller, concurrency)
    meter.end()
    due += origin
    began, ended = np.array(starts, np.int64), np.array(stops, np.int64)
    waited_for = np.array(taken, np.int64) <= due
    return Traffic(ended - due, _in_turn(total, 0, count), ended - began, (began - due)[waited_for])


def overhead(workload: Workload) -> float:
    """What the workload's loop itself costs a call, seconds: its whole time on a target that does nothing.

    The latencies hold the smaller part of it (one reading of the clock and one call of a Python function);
    the rest lies between the calls. Median of a few short runs, one caller, no pause.
    """

    def nothing(feed: Feed) -> None:
        return None

    feeds: list[Feed] = [{}]
    alone = Workload(iterations=_NO_OP_CALLS)
    at_once = np.zeros(_NO_OP_CALLS)
    took = []
    for _ in range(_NO_OP_RUNS):
        meter = Meter()
        if workload.open:
            open_loop(nothing, feeds, at_once, meter=meter)
            meter.wall_s -= LEAD_NS / 1e9
        elif workload.concurrency > 1 or workload.gap:
            callers(nothing, feeds, alone, 1, meter=meter)
        else:
            closed_loop(nothing, feeds, 1.0, 1, _NO_OP_CALLS, meter)
        took.append(meter.wall_s / _NO_OP_CALLS)
    return float(np.median(took))


def fine_sleep() -> None:
    """Make this thread, and those that it starts, wake on time where that can be asked for.

    Linux lets a sleeper oversleep by 50 µs unless it says otherwise. Source: prctl(2), PR_SET_TIMERSLACK.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(29, ctypes.c_ulong(1), 0, 0, 0)


def _in_turn(calls: int, begin: int, feeds: int) -> Ns:
    return np.asarray((begin + np.arange(calls)) % feeds, dtype=np.int64)


def _together(caller: Callable[[int], None], count: int, gate: threading.Barrier | None = None) -> None:
    """Run it in `count` threads, this one alone if it is one; the first error of any is raised here."""
    if count == 1:
        caller(0)
        return
    errors: list[BaseException] = []

    def guarded(me: int) -> None:
        try:
            caller(me)
        except BaseException as error:  # noqa: BLE001  it is raised again in the thread that waits
            errors.append(error)
            if gate is not None:
                gate.abort()

    threads = [threading.Thread(target=guarded, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise next((e for e in errors if not isinstance(e, threading.BrokenBarrierError)), errors[0])
