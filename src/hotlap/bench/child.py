"""The measuring process: ``python -m hotlap.bench.start REQUEST`` calls `main`.

It reads a request (JSON), measures one target once, writes an `Outcome` (msgpack) beside it, and ends. It
imports no more than a process that serves the model would.
"""

from __future__ import annotations

import os
import sys
import threading
from functools import partial
from pathlib import Path
from time import perf_counter, time
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from hotlap.bench import counters
from hotlap.bench.calling import open_callable
from hotlap.bench.cold import calls_until_steady
from hotlap.bench.data import Feed, load_feeds, save_feeds
from hotlap.bench.exchange import Request, answer_and_end
from hotlap.bench.loop import Call, Warmth, quiet_collector, shape_of, warm_up, with_handicap
from hotlap.bench.making import made_feeds
from hotlap.bench.meter import Meter
from hotlap.bench.result import MOST_SHAPES, ProcessResult, pack
from hotlap.bench.slowest import InputTime, input_times
from hotlap.bench.target import Target
from hotlap.bench.traffic import Traffic, fine_sleep, overhead, run_traffic
from hotlap.plan import Plan
from hotlap.runtime import default_session, ort
from hotlap.runtime import open as open_plan

__all__ = ["end_with_parent", "main", "make_feeds", "measure_once", "open_target"]

MOST_RANKED = 1_000_000
"""Of this many calls, the last ones, the slowest inputs are looked for."""


def measure_once(request: Request, began: float = 0.0) -> ProcessResult:
    """Open, first call, warm-up, loop; all in this process, which ran its first line at `began` (0: unknown).

    Raises:
        HotlapError: whatever opening or running the target raises.
    """
    target, workload = request.target, request.workload
    ort.load()  # its import is neither the loading of the model nor a thread of it
    imported = time()
    threads = counters.thread_count()
    start = perf_counter()
    runner = open_target(target)
    load_s = perf_counter() - start
    no_input = runner.inputs is not None and not runner.inputs
    feeds = [{}] if no_input else load_feeds(request.feeds, rows=request.rows)
    call = with_handicap(_call(target, runner), target.handicap)
    start = perf_counter()
    runner.run(feeds[0])
    first_call_s = perf_counter() - start
    order = _order(len(feeds), workload.seed, request.turn)
    # The first call of all is not the warm-up's: its shape has been met.
    first_shape = shape_of(feeds[0])
    feeds = [feeds[n] for n in order]
    warmth = warm_up(call, feeds, workload.warmup)
    with quiet_collector():
        result = _timed(request, call, feeds, order, warmth.shortest_ns)
    return msgspec.structs.replace(
        result,
        start_s=max(0.0, began - request.started) if began and request.started else None,
        import_s=imported - began if began else None,
        load_s=load_s,
        first_call_s=first_call_s,
        first_by_shape=_first_by_shape(warmth, first_shape, first_call_s),
        steady_after=calls_until_steady([(first_shape, int(first_call_s * 1e9)), *warmth.latencies_ns]),
        threads=1 + counters.thread_count() - threads,
        overhead_s=overhead(workload),
    )


def _first_by_shape(warmth: Warmth, first_shape: str, first_call_s: float) -> dict[str, float]:
    """Every new shape's first call, the slowest of them where they are many."""
    found = {shape: took / 1e9 for shape, took in warmth.first_ns.items()}
    found[first_shape] = first_call_s
    return dict(sorted(found.items(), key=lambda one: -one[1])[:MOST_SHAPES])


def _order(count: int, seed: int, turn: int) -> npt.NDArray[np.int64]:
    """An order for each turn, the same for both sides; a faster side only gets further in it."""
    return np.random.default_rng((seed, turn)).permutation(count)


def open_target(target: Target) -> Any:
    """What the target names, loaded in this process: something with `run`, `inputs` and `outputs`.

    Raises:
        HotlapError: whatever opening it raises.
    """
    if target.kind == "default":
        return default_session(target.model)
    if target.kind == "callable":
        return open_callable(target.function or "", target.folder or ".")
    plan = Plan.loads(target.plan or "", where=target.label)
    # Not warmed: the first call of all is a number of its own, and the loop warms up by itself.
    return open_plan(plan, folder=target.plan_dir, warm=False)


def _call(target: Target, runner: Any) -> Call:
    """What a user's program calls: the bare session's run, or the whole Runner with its input check."""
    return partial(runner.session.run, None) if target.kind == "default" else runner.run


def make_feeds(request: Request) -> None:
    """Make feeds that run and write them where the request says.

    Raises:
        HotlapError: whatever opening the target raises, or no guess at a feed ran.
    """
    runner = open_target(request.target)
    save_feeds(Path(request.feeds), made_feeds(runner, request.workload, request.limits))


def _timed(
    request: Request, call: Call, feeds: list[Feed], order: npt.NDArray[np.int64], shortest: int
) -> ProcessResult:
    fine_sleep()
    meter = Meter()
    traffic = run_traffic(call, feeds, request.workload, request.turn, shortest, meter)
    latencies = traffic.latencies
    p50, p95 = (float(q) / 1e9 for q in np.percentile(latencies, (50, 95)))
    return ProcessResult(
        label=request.target.label,
        samples=pack(latencies),
        services=None if traffic.services is None else pack(traffic.services),
        calls=len(latencies),
        feeds=len(feeds),
        p50=p50,
        p95=p95,
        wall_s=meter.wall_s,
        cpu_s=meter.cpu_s,
        foreign=meter.foreign,
        steal=meter.steal,
        switches=meter.switches,
        throttled=meter.throttled,
        rss_peak=counters.peak_memory(),
        rss_settled=counters.resident_memory(),
        mhz=counters.frequency(),
        late_s=float(np.median(traffic.late)) / 1e9 if traffic.late.size else None,
        slowest=_slowest(traffic, order),
    )


def _slowest(traffic: Traffic, order: npt.NDArray[np.int64]) -> tuple[InputTime, ...]:
    """By what the calls themselves took: how long a request waited is no fault of its input."""
    took = traffic.latencies if traffic.services is None else traffic.services
    return input_times(took[-MOST_RANKED:], order[traffic.feeds[-MOST_RANKED:]])


def end_with_parent() -> None:
    """The parent holds the other end of stdin: when it is gone, however it went, so are we."""

    def wait() -> None:
        sys.stdin.buffer.read()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def main(began: float) -> None:
    """Do what the request in the arguments says; the process began at `began`, on `time.time`'s scale."""
    request = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Request)
    end_with_parent()

    def work() -> ProcessResult | None:
        if not request.make:
            return measure_once(request, began)
        make_feeds(request)
        return None

    answer_and_end(work, request.outcome)
