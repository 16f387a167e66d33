"""Histograms of times."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hotlap.serve.spread import BOUNDS, Spread, Total


def test_a_total_counts_and_adds() -> None:
    total = Total()
    total.add_all(np.array([3, 4], np.int64))
    total.add_all(np.array([5], np.int64))
    assert (total.count, total.ns) == (3, 12)


@given(st.lists(st.integers(0, 2 * BOUNDS[-1])))
def test_each_time_lies_in_the_first_bucket_that_holds_it(times: list[int]) -> None:
    spread = Spread()
    for ns in times:
        spread.add(ns)
    assert (spread.count, spread.ns) == (len(times), sum(times))
    for n, bound in enumerate(BOUNDS):
        assert sum(spread.counts[: n + 1]) == sum(t <= bound for t in times)


@given(st.lists(st.integers(0, 2 * BOUNDS[-1]) | st.sampled_from(BOUNDS), max_size=50))
def test_times_are_counted_together_as_one_by_one(times: list[int]) -> None:
    one_by_one, together = Spread(), Spread()
    for ns in times:
        one_by_one.add(ns)
    for part in (times[:20], times[20:]):
        together.add_all(np.array(part, np.int64))
    assert together == one_by_one


def test_bounds_rise_from_10_microseconds_to_10_seconds() -> None:
    assert list(BOUNDS) == sorted(set(BOUNDS))
    assert (BOUNDS[0], BOUNDS[-1]) == (10_000, 10_000_000_000)
