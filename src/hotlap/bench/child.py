"""The measuring process: ``python -m hotlap.bench.child REQUEST``.

It reads a request (JSON), measures one target once, writes an `Outcome` (msgpack) beside it, and ends. It
imports no more than a process that serves the model would.
"""

from __future__ import annotations

import os
import sys
import threading
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import msgspec
import numpy as np

from hotlap.bench import counters
from hotlap.bench.data import Feed, load_feeds, save_feeds
from hotlap.bench.exchange import Outcome, Request, hand_back
from hotlap.bench.loop import Call, closed_loop, quiet_collector, warm_up, with_handicap
from hotlap.bench.measurement import ProcessResult, pack
from hotlap.bench.workload import Target
from hotlap.errors import HotlapError
from hotlap.plan import Plan
from hotlap.runtime import default_session, ort
from hotlap.runtime import open as open_plan
from hotlap.runtime.feeds import find_feed

__all__ = ["end_with_parent", "measure_once", "open_target"]


def measure_once(request: Request) -> ProcessResult:
    """Open, first call, warm-up, loop; all in this process.

    Raises:
        HotlapError: whatever opening or running the target raises.
    """
    target, workload = request.target, request.workload
    ort.load()  # its import is neither the loading of the model nor a thread of it
    threads = counters.thread_count()
    start = perf_counter()
    runner = open_target(target)
    load_s = perf_counter() - start
    feeds = load_feeds(request.feeds, rows=request.rows) if runner.inputs else [{}]
    start = perf_counter()
    runner.run(feeds[0])
    first_call_s = perf_counter() - start
    feeds = _shuffled(feeds, workload.seed, request.turn)
    call = with_handicap(_call(target, runner), target.handicap)
    shortest = warm_up(call, feeds, workload.warmup)
    with quiet_collector():
        result = _timed(request, call, feeds, shortest)
    return msgspec.structs.replace(
        result,
        load_s=load_s,
        first_call_s=first_call_s,
        threads=1 + counters.thread_count() - threads,
    )


def _shuffled(feeds: list[Feed], seed: int, turn: int) -> list[Feed]:
    """An order for each turn, the same for both sides; a faster side only gets further in it."""
    return [feeds[n] for n in np.random.default_rng((seed, turn)).permutation(len(feeds))]


def open_target(target: Target) -> Any:
    """What the target names, loaded in this process: something with `run`, `inputs` and `outputs`.

    Raises:
        HotlapError: whatever opening it raises.
    """
    if target.kind == "default":
        return default_session(target.model)
    plan = Plan.loads(target.plan or "", where=target.label)
    # Not warmed: the first call of all is a number of its own, and the loop warms up by itself.
    return open_plan(plan, folder=target.plan_dir, warm=False)


def _call(target: Target, runner: Any) -> Call:
    """What a user's program calls: the bare session's run, or the whole Runner with its input check."""
    return partial(runner.session.run, None) if target.kind == "default" else runner.run


def make_feed(request: Request) -> None:
    """Find one feed that runs and write it where the request says.

    Raises:
        HotlapError: whatever opening the target raises, or no guess at a feed ran.
    """
    runner = open_target(request.target)
    feed = find_feed(runner.run, runner.inputs, limits=request.limits, seed=request.workload.seed)
    save_feeds(Path(request.feeds), [feed])


def _timed(request: Request, call: Call, feeds: list[Feed], shortest: int) -> ProcessResult:
    throttled, switches, times = counters.throttled(), counters.switches(), counters.cpu_times()
    cpu, wall = process_time(), perf_counter()
    latencies = closed_loop(call, feeds, request.workload.seconds, shortest)
    wall_s, cpu_s = perf_counter() - wall, process_time() - cpu
    others = counters.shares(times, counters.cpu_times(), cpu_s)
    p50, p95 = (float(q) / 1e9 for q in np.percentile(latencies, (50, 95)))
    return ProcessResult(
        label=request.target.label,
        samples=pack(latencies),
        calls=len(latencies),
        feeds=len(feeds),
        p50=p50,
        p95=p95,
        wall_s=wall_s,
        cpu_s=cpu_s,
        foreign=others.foreign if others else None,
        steal=others.steal if others else None,
        switches=_since(switches, counters.switches()),
        throttled=_since(throttled, counters.throttled()),
        rss_peak=counters.peak_memory(),
    )


def _since(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def end_with_parent() -> None:
    """The parent holds the other end of stdin: when it is gone, however it went, so are we."""

    def wait() -> None:
        sys.stdin.buffer.read()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def main() -> None:
    request = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Request)
    end_with_parent()
    try:
        outcome = Outcome(done=True, result=(make_feed if request.make else measure_once)(request))
    except HotlapError as error:
        outcome = Outcome(error="; ".join(str(error).splitlines()), kind=type(error).__name__)
    except Exception as error:  # noqa: BLE001  it crosses a process border: the parent raises it again
        outcome = Outcome(error=f"{type(error).__name__}: {' '.join(str(error).split())}")
    code = hand_back(outcome, request.outcome)
    sys.stderr.flush()
    os._exit(code)  # some providers crash while they unload, after the answer is there


if __name__ == "__main__":
    main()
