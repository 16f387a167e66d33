from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from hotlap.errors import UsageError
from hotlap.verify.metric import measured_change, paired_interval, split_labels

FEEDS = [{"x": np.zeros((1, 2))} for _ in range(40)]


def outputs(values: Any) -> list[dict[str, Any]]:
    return [{"y": np.array([v])} for v in values]


def scores(feeds: Any, given_outputs: Any) -> Any:
    return np.array([o["y"][0] for o in given_outputs])


def mean(feeds: Any, given_outputs: Any) -> float:
    return float(np.mean([o["y"][0] for o in given_outputs]))


@settings(max_examples=20)
@given(
    arrays.arrays(np.float64, 40, elements=st.floats(-1, 1)),
    arrays.arrays(np.float64, 40, elements=st.floats(-1, 1)),
)
def test_the_interval_of_scores_holds_the_drop_and_equals_that_of_calls(a: Any, b: Any) -> None:
    change = measured_change(scores, FEEDS, outputs(a), outputs(b))
    assert change.before == pytest.approx(a.mean()) and change.drop == pytest.approx((a - b).mean())
    assert change.low - 1e-12 <= change.drop <= change.high + 1e-12
    if change.changed:
        called = measured_change(mean, FEEDS, outputs(a), outputs(b))
        spread = (a - b).std() / math.sqrt(40)
        assert (called.per, called.count, called.changed) == ("input", 40, None)
        assert abs(called.low - change.low) <= spread and abs(called.high - change.high) <= spread


def test_the_interval_is_about_two_standard_errors_each_way() -> None:
    draw = np.random.default_rng(3)
    a, b = draw.standard_normal(400), draw.standard_normal(400)
    low, high = paired_interval(a, b)
    error = (a - b).std(ddof=1) / 20
    assert (high - low) / error == pytest.approx(3.92, rel=0.05)
    assert paired_interval(a, b) == (low, high) != paired_interval(a, b, seed=1)


def test_pairs_cancel_what_makes_an_input_hard() -> None:
    hard = np.linspace(0, 100, 50)
    low, high = paired_interval(hard, hard - 0.5 - 0.001 * np.arange(50) / 50)
    assert 0.499 < low < high < 0.502


@pytest.mark.parametrize(
    ("values", "high"),
    [(np.ones(60), 0.05), (np.repeat([0.0, 2.0], 30), 0.1), (np.zeros(60), 0.05), (np.ones(2), 1.0)],
)
def test_where_nothing_changed_the_rule_of_three_says_what_may_hide(values: Any, high: float) -> None:
    assert paired_interval(values, values) == (0.0, pytest.approx(high))


def test_one_changed_row_of_many_is_close_to_the_rule() -> None:
    a, b = np.ones(100), np.ones(100)
    b[7] = 0
    low, high = paired_interval(a, b)
    assert low == 0 and high == pytest.approx(0.03, abs=0.011)


def test_scores_that_are_no_numbers_have_no_interval() -> None:
    change = measured_change(scores, FEEDS, outputs([1.0] * 40), outputs([math.nan] * 40))
    assert (change.low, change.high) == (-math.inf, math.inf) and math.isnan(change.drop)


def test_rows_are_told_from_inputs() -> None:
    def each(feeds: Any, given_outputs: Any) -> Any:
        return np.concatenate([o["y"] for o in given_outputs])

    two = [{"y": np.array([1.0, 0.0])}] * 40
    change = measured_change(each, FEEDS, two, two, rows=80)
    assert (change.count, change.per) == (80, "row")
    assert "80 rows" in change.label


def test_labels_are_the_third_argument_and_drawn_with_their_inputs() -> None:
    labels = list(range(40))

    def metric(feeds: Any, given_outputs: Any, known: Any) -> float:
        assert [o["y"][0] for o in given_outputs] == known
        return float(np.mean(known))

    change = measured_change(metric, FEEDS, outputs(labels), outputs(labels), labels)
    assert change.drop == 0 and change.before == 19.5


def test_a_metric_that_fails_or_gives_no_numbers_is_the_callers_to_mend() -> None:
    def broken(feeds: Any, given_outputs: Any) -> float:
        raise KeyError("label")

    sides = outputs([1.0] * 40), outputs([1.0] * 40)
    with pytest.raises(
        UsageError, match=r"the metric failed: KeyError: 'label' \(test_metric.py, line \d+\)$"
    ):
        measured_change(broken, FEEDS, *sides)
    for given_back, said in (("good", "gave str"), (np.zeros((2, 2)), r"shape \[2, 2\]"), ([], "shape")):
        with pytest.raises(UsageError, match=said):
            measured_change(lambda f, o, given_back=given_back: given_back, FEEDS, *sides)


def test_scores_are_one_for_each_input_or_row() -> None:
    sides = outputs([1.0] * 40), outputs([1.0] * 40)
    said = "gave 3 scores for 40 inputs of 80 rows: return one score for each input or each row, or a single"
    with pytest.raises(UsageError, match=said):
        measured_change(lambda f, o: [1.0, 1.0, 1.0], FEEDS, *sides, rows=80)
    with pytest.raises(UsageError, match="gave 80 scores for 40 inputs: "):
        measured_change(lambda f, o: np.ones(80), FEEDS, *sides)


def test_nan_of_the_metrics_own_is_the_callers_to_mend() -> None:
    sides = outputs([1.0] * 40), outputs([2.0] * 40)
    with pytest.raises(UsageError, match="gave nan on the reference's answers: return finite"):
        measured_change(lambda f, o: math.nan, FEEDS, *sides)

    def fourth(feeds: Any, given_outputs: Any) -> Any:
        found = np.ones(len(feeds))
        found[4] = math.nan if given_outputs[0]["y"][0] == 2 else 1
        return found

    with pytest.raises(UsageError, match=r"nan on the candidate's answers \(score 4 of 40\)"):
        measured_change(fourth, FEEDS, *sides)


def test_a_metric_may_fail_on_a_few_draws_but_not_on_many() -> None:
    values = np.zeros(40)
    values[:10] = 1

    def picky(share: float) -> Any:
        def metric(feeds: Any, given_outputs: Any) -> float:
            have = mean(feeds, given_outputs)
            if have < share:
                raise ValueError("too few of a class")
            return have

        return metric

    side = outputs(values)
    assert measured_change(picky(0.1), FEEDS, side, side).before == 0.25
    with pytest.raises(UsageError, match="too few of a class"):
        measured_change(picky(0.25), FEEDS, side, side)


def test_labels_of_rows_are_cut_to_their_inputs() -> None:
    assert [list(part) for part in split_labels([1, 2, 3], [1, 2])] == [[1], [2, 3]]
    assert split_labels(["a", "b"], [4, 2]) == ["a", "b"]
    with pytest.raises(UsageError, match="4 labels for 2 inputs of 3 rows"):
        split_labels([1, 2, 3, 4], [1, 2])
