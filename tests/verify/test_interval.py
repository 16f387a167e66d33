from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hotlap.verify.interval import NO_INTERVAL, interval_of_calls, paired_interval


def test_the_interval_is_about_two_standard_errors_each_way() -> None:
    draw = np.random.default_rng(3)
    a, b = draw.standard_normal(400), draw.standard_normal(400)
    low, high, unseen = paired_interval(a, b)
    assert low is not None and high is not None and not unseen
    error = (a - b).std(ddof=1) / 20
    assert (high - low) / error == pytest.approx(3.92, rel=0.05)
    assert paired_interval(a, b)[:2] == (low, high) != paired_interval(a, b, seed=1)[:2]


def test_pairs_cancel_what_makes_an_input_hard() -> None:
    hard = np.linspace(0, 100, 50)
    low, high, _ = paired_interval(hard, hard - 0.5 - 0.001 * np.arange(50) / 50)
    assert low is not None and high is not None and 0.499 < low < high < 0.502


@pytest.mark.parametrize(
    ("values", "high"),
    [(np.ones(60), 0.05), (np.repeat([0.0, 2.0], 30), 0.1), (np.zeros(60), 0.05), (np.ones(6), 0.5)],
)
def test_where_nothing_changed_the_rule_of_three_says_what_may_hide(values: Any, high: float) -> None:
    assert paired_interval(values, values) == (0.0, pytest.approx(high), pytest.approx(high))


def test_one_changed_row_of_many_is_close_to_the_rule() -> None:
    a, b = np.ones(100), np.ones(100)
    b[7] = 0
    low, high, _ = paired_interval(a, b)
    assert low == 0 and high == pytest.approx(0.03, abs=0.011)


def test_equal_drops_are_widened_both_ways_by_what_they_do_not_show() -> None:
    rows = np.repeat([0.0, 1.0], 30)
    low, high, unseen = paired_interval(rows, rows - 0.1)
    assert (low, high, unseen) == (pytest.approx(0.05), pytest.approx(0.15), pytest.approx(0.05))
    called = interval_of_calls(np.full(500, 0.1) + 1e-17 * np.arange(500), 60, 1.0, 0.9)
    assert called == (pytest.approx(0.05), pytest.approx(0.15), pytest.approx(0.05))


@pytest.mark.parametrize("score", [0.0, -0.02, 0.3, 1.0])
def test_one_number_that_is_small_does_not_make_the_interval_narrow(score: float) -> None:
    found = interval_of_calls(np.zeros(500), 60, score, score)
    assert found == (0.0, pytest.approx(0.05), pytest.approx(0.05))
    assert interval_of_calls(np.zeros(500), 60, 40.0, 40.0).high == pytest.approx(2.0)


@pytest.mark.parametrize("after", [np.ones(5), np.arange(5.0), np.zeros(5)])
def test_of_a_few_draws_there_is_none(after: Any) -> None:
    assert paired_interval(np.ones(5), after) == NO_INTERVAL
    assert interval_of_calls(np.arange(500.0), 5, 1.0, 2.0) == NO_INTERVAL


def test_what_is_not_finite_has_none() -> None:
    assert paired_interval(np.ones(9), np.array([np.nan] * 9)) == NO_INTERVAL
    assert interval_of_calls(np.array([np.inf, 1.0]), 9, 1.0, 2.0) == NO_INTERVAL
