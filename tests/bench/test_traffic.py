from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.queueing import queue
from hotlap.bench import Workload
from hotlap.bench.arrivals import constant, poisson
from hotlap.bench.traffic import callers, open_loop, overhead, run_traffic
from tests.bench.clock import FakeClock, Scripted

FEEDS: list[Any] = [{"x": n} for n in range(3)]


def opened(times: Any, services: Any) -> Any:
    clock = FakeClock()
    return open_loop(Scripted(clock, services), FEEDS, np.asarray(times), 1, clock, clock.sleep)


def test_latency_counts_from_the_intended_start() -> None:
    """The second request is due at 1 s, while the first is served until 3 s."""
    found = opened([0, 1, 10], [3, 1, 2])
    assert found.latencies == pytest.approx([3e9, 3e9, 2e9])
    assert found.services == pytest.approx([3e9, 1e9, 2e9])
    assert found.feeds.tolist() == [0, 1, 2]
    assert len(found.late) == 2 and (found.late == 0).all()  # those that found the caller free


@given(
    st.lists(st.tuples(st.floats(0.001, 2), st.floats(0.001, 2)), min_size=1, max_size=60),
)
def test_an_open_loop_is_the_queue_that_the_theory_says(pairs: list[tuple[float, float]]) -> None:
    gaps, services = zip(*pairs, strict=True)
    times = np.cumsum(gaps)
    assert opened(times, services).latencies / 1e9 == pytest.approx(queue(times, services, 1), abs=1e-6)


def test_at_70_percent_of_capacity_it_agrees_with_the_queue_of_poisson_arrivals() -> None:
    """M/D/1 at 70 %: the mean wait is 0.7 / (2 · 0.3) services (Pollaczek and Khinchin)."""
    service = 0.01
    times = poisson(70, count=40_000, seed=3)
    found = opened(times, np.full(len(times), service)).latencies / 1e9
    simulated = queue(times, np.full(len(times), service), 1)
    for q in (50, 95, 99):
        assert np.percentile(found, q) == pytest.approx(np.percentile(simulated, q), rel=1e-6)
    assert found.mean() - service == pytest.approx(service * 0.7 / 0.6, rel=0.08)


def test_a_stall_shows_in_the_tail_at_its_true_weight() -> None:
    """1 ms a call, 100 a second for 10 s, and one call that takes 200 ms.

    Twenty requests are due while it lasts, and each waits for its rest, so 2 % of all are slow: p99 is about
    100 ms. A loop that waits for each answer sees one slow call of ten thousand, and a p99 of 1 ms.
    """
    services = np.full(1000, 0.001)
    services[500] = 0.2
    stalled = opened(constant(100, count=1000), services).latencies / 1e9
    slow = stalled > 0.0015
    assert 20 <= slow.sum() <= 23
    assert stalled[500:520] == pytest.approx(np.arange(0.2, 0, -0.01) + 0.001 * np.r_[0, 1:20], abs=1e-6)
    assert 0.09 < np.percentile(stalled, 99) < 0.13
    assert np.percentile(services, 99) == pytest.approx(0.001)


def test_a_sleeper_that_wakes_too_late_is_counted_apart() -> None:
    clock = FakeClock()
    call = Scripted(clock, [0.001] * 3)
    found = open_loop(call, FEEDS, np.array([0, 1, 2.0]), 1, clock, lambda s: clock.sleep(s + 0.00005))
    assert found.late == pytest.approx([50_000] * 3)
    assert found.latencies == pytest.approx([1_050_000] * 3)
    assert found.services == pytest.approx([1_000_000] * 3)


def test_several_callers_serve_at_once_and_never_more() -> None:
    together, most, lock = 0, 0, threading.Lock()

    def call(feed: Any) -> None:
        nonlocal together, most
        with lock:
            together += 1
            most = max(most, together)
        time.sleep(0.01)
        with lock:
            together -= 1

    found = open_loop(call, FEEDS, np.zeros(6), 2)
    assert most == 2 and found.services is not None
    assert (found.services >= 10_000_000).all() and (found.latencies >= found.services).all()
    assert found.latencies.max() >= 30_000_000  # due at once: the last ones waited for two others


def test_callers_of_a_closed_loop_share_the_target_and_begin_at_different_feeds() -> None:
    feeds = [{"x": n} for n in range(4)]
    seen: dict[int, list[int]] = {}
    together, most, lock = 0, 0, threading.Lock()

    def call(feed: Any) -> None:
        nonlocal together, most
        with lock:
            together += 1
            most = max(most, together)
            seen.setdefault(threading.get_ident(), []).append(feed["x"])
        time.sleep(0.005)
        with lock:
            together -= 1

    found = callers(call, feeds, Workload(concurrency=2, iterations=9), 5_000_000)
    assert most == 2 and sorted(map(len, seen.values())) == [4, 5]
    assert sorted(s[0] for s in seen.values()) == [0, 2]
    assert len(found.latencies) == len(found.feeds) == 9 and (found.latencies >= 5_000_000).all()
    assert found.feeds.tolist() == [0, 1, 2, 3, 0, 2, 3, 0, 1]
    assert found.services is None and not found.late.size


def test_each_caller_stops_when_its_time_is_up() -> None:
    found = callers(lambda feed: time.sleep(0.002), FEEDS, Workload(concurrency=3, seconds=0.05), 2_000_000)
    assert 3 * 3 <= len(found.latencies) <= 3 * 26


def test_a_pause_comes_before_each_call_and_is_no_part_of_its_latency() -> None:
    clock = FakeClock()
    start = clock.now
    found = callers(
        Scripted(clock, [0.25] * 50), FEEDS, Workload(seconds=9.9, gap=0.75), 1, clock, clock.sleep
    )
    assert found.latencies.tolist() == [250_000_000] * 10
    assert clock.now - start == pytest.approx(10e9)


@pytest.mark.parametrize(
    "workload", [Workload(concurrency=2), Workload(arrivals="constant", rate=100, concurrency=2)]
)
def test_what_a_caller_raises_is_raised(workload: Workload) -> None:
    def call(feed: Any) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        run_traffic(call, FEEDS, workload, 0, 1_000_000)


def test_the_workload_says_which_loop_runs() -> None:
    calls: list[Any] = []
    assert len(run_traffic(calls.append, FEEDS, Workload(iterations=7), 0, 1).latencies) == 7
    assert run_traffic(calls.append, FEEDS, Workload(iterations=4, gap=1e-4), 0, 1).services is None
    opened = Workload(iterations=5, arrivals="poisson", rate=1e5)
    found = run_traffic(calls.append, FEEDS, opened, 0, 1)
    assert found.services is not None and len(found.latencies) == 5
    assert len(calls) == 16


@pytest.mark.parametrize(
    "workload",
    [Workload(), Workload(concurrency=2), Workload(gap=1.0), Workload(arrivals="constant", rate=1)],
)
def test_the_harness_measures_itself(workload: Workload) -> None:
    assert 1e-8 < overhead(workload) < 1e-4
