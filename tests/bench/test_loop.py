from __future__ import annotations

import gc
from time import perf_counter_ns
from typing import Any

import numpy as np
import pytest

from hotlap.bench.loop import closed_loop, quiet_collector, warm_up, with_handicap

FEEDS = [{"x": np.array([n])} for n in range(3)]


def busy(microseconds: float) -> Any:
    def call(feed: Any) -> None:
        end = perf_counter_ns() + microseconds * 1000
        while perf_counter_ns() < end:
            pass

    return call


def test_the_feeds_are_given_in_turn() -> None:
    seen: list[int] = []

    def call(feed: Any) -> None:
        seen.append(int(feed["x"][0]))
        busy(200)(feed)

    latencies = closed_loop(call, FEEDS, 0.01, 200_000)
    assert len(latencies) == len(seen)
    assert seen == [n % 3 for n in range(len(seen))]


def test_each_latency_is_the_time_of_its_call() -> None:
    latencies = closed_loop(busy(500), FEEDS, 0.02, 500_000)
    assert latencies.dtype == np.int64
    assert latencies.min() >= 500_000
    assert latencies.sum() >= 0.02 * 1e9 * 0.5


def test_a_slow_target_is_called_three_times_all_the_same() -> None:
    assert len(closed_loop(busy(3000), FEEDS, 0.001, 3_000_000)) == 3


def test_the_loop_ends_when_the_room_is_full() -> None:
    assert len(closed_loop(lambda feed: None, FEEDS, 0.01, 10_000_000)) == 2 * 1 + 4


def test_warming_up_calls_at_least_twice_and_tells_the_shortest_call() -> None:
    calls: list[Any] = []
    warmth = warm_up(lambda feed: (calls.append(feed), busy(300)(feed)), FEEDS, 0.0)
    assert len(calls) == 2
    assert warmth.shortest_ns >= 300_000


def test_warming_up_meets_every_shape() -> None:
    feeds = [{"x": np.ones(n % 5 + 1)} for n in range(50)]
    seen = []
    warm_up(lambda feed: seen.append(len(feed["x"])), feeds, 0.0)
    assert sorted(seen) == [1, 2, 3, 4, 5]


def test_a_handicap_adds_its_share_of_each_call() -> None:
    start = perf_counter_ns()
    with_handicap(busy(2000), 1.0)(FEEDS[0])
    assert perf_counter_ns() - start >= 4_000_000


def test_no_handicap_leaves_the_call_as_it_is() -> None:
    call = busy(1)
    assert with_handicap(call, 0.0) is call


def test_a_handicap_passes_the_answer_on() -> None:
    assert with_handicap(lambda feed: "answer", 0.1)(FEEDS[0]) == "answer"


def test_the_collector_rests_while_it_is_timed_and_comes_back() -> None:
    with pytest.raises(RuntimeError), quiet_collector():
        assert not gc.isenabled()
        raise RuntimeError
    assert gc.isenabled() and gc.get_freeze_count() == 0


def test_a_short_handicap_is_as_long_as_a_long_one_relative_to_its_call() -> None:
    """Against the same caller that waits for nothing; a third of the time may go to others."""
    plain = closed_loop(with_handicap(busy(5), 1e-9), FEEDS, 0.05, 5000)
    slow = closed_loop(with_handicap(busy(5), 1.0), FEEDS, 0.05, 5000)
    assert 1.5 < np.median(slow) / np.median(plain) < 2.5
