from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.bench.stats import FEW, MARGIN, bootstrap_ratio, call, same_within

PROCESSES = 12
SPREAD = 0.02  # what the p50 of equal processes differs by on a machine with some other work
TRIALS = 200
QUICK = 1000  # resamples; the verdicts of a simulation do not need more

logs = st.lists(st.floats(-9, 1), min_size=2, max_size=14)


def claims(gain: float, rng: np.random.Generator, outlier: bool) -> list[str]:
    """The verdicts on a candidate that is `gain` times as slow, over many runs of 12 processes a side."""
    verdicts = []
    for _ in range(TRIALS):
        a, b = rng.normal(0, SPREAD, PROCESSES), rng.normal(np.log(gain), SPREAD, PROCESSES)
        if outlier:
            side: npt.NDArray[np.float64] = a if rng.random() < 0.5 else b
            side[rng.integers(PROCESSES)] += np.log(2.5)
        ratio = bootstrap_ratio(a, b, resamples=QUICK)
        verdicts.append(call(ratio.low, ratio.high))
    return verdicts


@pytest.mark.parametrize("outlier", [False, True])
def test_a_model_against_itself_is_hardly_ever_told_apart(outlier: bool) -> None:
    verdicts = claims(1.0, np.random.default_rng(1), outlier)
    assert sum(v != "no difference" for v in verdicts) <= TRIALS * 0.02


@pytest.mark.parametrize("outlier", [False, True])
def test_a_slowdown_of_a_tenth_is_found_even_when_one_process_was_slowed_two_and_a_half_times(
    outlier: bool,
) -> None:
    verdicts = claims(1.1, np.random.default_rng(2), outlier)
    assert sum(v == "slower" for v in verdicts) >= TRIALS * 0.95
    assert "faster" not in verdicts


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(400):
        ratio = bootstrap_ratio(
            rng.normal(0, SPREAD, PROCESSES), rng.normal(-0.2, SPREAD, PROCESSES), resamples=QUICK
        )
        held += ratio.low <= np.exp(0.2) <= ratio.high
    assert held >= 400 * 0.93


@given(logs, logs, st.floats(-3, 3))
def test_scaling_both_sides_leaves_the_ratio(a: list[float], b: list[float], shift: float) -> None:
    plain = bootstrap_ratio(a, b, resamples=50)
    shifted = bootstrap_ratio(np.add(a, shift), np.add(b, shift), resamples=50)
    assert np.allclose(plain, shifted, rtol=1e-9)


@given(logs, logs)
def test_the_interval_holds_the_ratio_of_the_extremes_at_most(a: list[float], b: list[float]) -> None:
    ratio = bootstrap_ratio(a, b, resamples=50)
    assert ratio.low <= ratio.high
    assert np.exp(min(a) - max(b)) * (1 - 1e-9) <= ratio.low
    assert ratio.high <= np.exp(max(a) - min(b)) * (1 + 1e-9)


@given(logs, logs)
def test_swapping_the_sides_inverts_the_ratio(a: list[float], b: list[float]) -> None:
    there, back = bootstrap_ratio(a, b, resamples=50), bootstrap_ratio(b, a, resamples=50)
    assert there.value == pytest.approx(1 / back.value)


def test_swapping_the_sides_inverts_the_interval_up_to_the_resampling() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.normal(0, SPREAD, PROCESSES), rng.normal(-0.3, SPREAD, PROCESSES)
    there, back = bootstrap_ratio(a, b), bootstrap_ratio(b, a)
    assert (there.low, there.high) == pytest.approx((1 / back.high, 1 / back.low), rel=0.004)


def test_equal_data_and_seed_give_equal_intervals() -> None:
    a, b = np.linspace(0, 0.1, 12), np.linspace(0.05, 0.1, 12)
    assert bootstrap_ratio(a, b, seed=3) == bootstrap_ratio(a, b, seed=3)
    assert bootstrap_ratio(a, b, seed=3) != bootstrap_ratio(a, b, seed=4)


def test_with_few_processes_the_interval_is_the_whole_range() -> None:
    a, b = np.log([2.0, 3.0, 4.0]), np.log([1.0, 1.0, 2.0])
    assert len(a) < FEW
    assert bootstrap_ratio(a, b) == pytest.approx((3.0, 1.0, 4.0))


def test_a_side_without_processes_is_refused() -> None:
    with pytest.raises(ValueError, match="one value per process"):
        bootstrap_ratio([], [1.0])


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (1.02, 1.1, "faster"),
        (1 + MARGIN, 1.1, "no difference"),
        (0.9, 0.98, "slower"),
        (0.9, 1 - MARGIN, "no difference"),
        (0.95, 1.05, "no difference"),
        (1.001, 1.009, "no difference"),
    ],
)
def test_a_verdict_needs_the_whole_interval_beyond_the_margin(low: float, high: float, verdict: str) -> None:
    assert call(low, high) == verdict


@pytest.mark.parametrize(
    ("low", "high", "same"),
    [(0.985, 1.01, True), (0.981, 1.019, True), (0.98, 1.0, False), (1.0, 1.021, False), (0.5, 2, False)],
)
def test_sides_are_the_same_when_the_whole_interval_lies_within_the_margin(
    low: float, high: float, same: bool
) -> None:
    assert same_within(low, high, 0.02) is same


def test_sides_that_differ_by_the_margin_are_hardly_ever_called_the_same() -> None:
    """Each of the two tests errs in 2.5 % at most, and the bootstrap of medians is a little off."""
    rng = np.random.default_rng(7)
    same = 0
    for _ in range(400):
        a, b = rng.normal(0, 0.01, PROCESSES), rng.normal(np.log(1.02), 0.01, PROCESSES)
        ratio = bootstrap_ratio(a, b, resamples=QUICK)
        same += same_within(ratio.low, ratio.high, 0.02)
    assert same <= 400 * 0.05


def test_a_higher_level_is_a_wider_interval() -> None:
    a, b = np.linspace(0, 0.1, 12), np.linspace(0.02, 0.1, 12)
    wide, narrow = bootstrap_ratio(a, b, level=0.999), bootstrap_ratio(a, b, level=0.5)
    assert wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize(
    ("processes", "verdict"), [((1, 1), "no difference"), ((3, 3), "no difference"), ((4, 4), "slower")]
)
def test_too_few_processes_tell_nothing_apart(processes: tuple[int, int], verdict: str) -> None:
    assert call(0.59, 0.59, processes) == verdict


def test_the_more_looks_the_more_processes_it_takes() -> None:
    assert call(0.59, 0.59, (4, 4), looks=2) == "no difference"
    assert call(0.59, 0.59, (5, 5), looks=2) == "slower"
