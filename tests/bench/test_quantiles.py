from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.bench.quantiles import needed, quantile, supported


@pytest.mark.parametrize(
    ("q", "samples"),
    [(50, 20), (90, 100), (95, 200), (99, 1000), (99.9, 10_000), (10, 100), (99.99, 100_000)],
)
def test_ten_samples_must_be_expected_beyond_a_percentile(q: float, samples: int) -> None:
    assert needed(q) == samples
    assert supported(q, samples) and not supported(q, samples - 1)


def test_p99_9_of_500_samples_is_refused() -> None:
    assert quantile([np.arange(50.0)] * 10, 99.9) is None
    assert quantile([np.arange(50.0)] * 10, 95) is not None


def test_processes_with_samples_enough_count_one_by_one_so_that_a_slow_one_moves_nothing() -> None:
    rng = np.random.default_rng(0)
    processes = [rng.normal(10, 1, 1000) for _ in range(11)]
    found = quantile([*processes, processes[0] * 5], 95)
    assert found is not None and not found.pooled
    assert found.value == pytest.approx(11.64, abs=0.2)
    assert found.low < 11.64 < found.high < 12


def test_a_tail_that_no_process_holds_by_itself_is_taken_over_all_of_them() -> None:
    rng = np.random.default_rng(1)
    found = quantile([rng.exponential(1, 200) for _ in range(12)], 99)
    assert found is not None and found.pooled
    assert found.value == pytest.approx(-np.log(0.01), rel=0.2)
    assert found.low < -np.log(0.01) < found.high


def test_the_interval_of_a_pooled_percentile_holds_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(2)
    held = 0
    for seed in range(120):
        processes = [rng.exponential(rng.normal(1, 0.03), 150) for _ in range(12)]
        found = quantile(processes, 98, seed)
        assert found is not None
        held += found.low <= -np.log(0.02) <= found.high
    assert held >= 120 * 0.88


def test_with_few_processes_the_interval_is_the_range_of_theirs() -> None:
    found = quantile([np.full(500, v) for v in (1.0, 2.0, 4.0)], 50)
    assert found == (2.0, 1.0, 4.0, False)


@given(
    st.lists(st.lists(st.floats(0.1, 9), min_size=20, max_size=60), min_size=1, max_size=8),
    st.sampled_from([50, 90]),
)
def test_the_value_lies_in_its_interval_and_among_the_samples(samples: list[list[float]], q: float) -> None:
    processes = [np.array(s) for s in samples]
    found = quantile(processes, q)
    if found is not None:
        assert found.low <= found.value <= found.high
        assert min(map(min, samples)) <= found.low and found.high <= max(map(max, samples))
