from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from hotlap.errors import UsageError
from hotlap.verify.metric import measured_change, split_labels

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
    assert change.low is not None and change.high is not None
    assert change.low - 1e-12 <= change.drop <= change.high + 1e-12
    called = measured_change(mean, FEEDS, outputs(a), outputs(b))
    if not change.unseen and not called.unseen:
        # Where one input alone stands out, means of draws lie in steps.
        spread = (a - b).std() / math.sqrt(40) + np.ptp(a - b) / 40
        assert (called.per, called.count, called.changed) == ("input", 40, None)
        assert abs(called.low - change.low) <= spread and abs(called.high - change.high) <= spread


def test_scores_that_are_no_numbers_have_no_interval() -> None:
    change = measured_change(scores, FEEDS, outputs([1.0] * 40), outputs([math.nan] * 40))
    assert (change.low, change.high, change.width) == (None, None, math.inf) and math.isnan(change.drop)
    assert change.label.endswith("a drop of nan (40 inputs, no interval: some scores are not finite)")


@pytest.mark.parametrize("metric", [scores, mean])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_few_inputs_have_no_interval(metric: Any, count: int) -> None:
    """Each draw of one input is that same input: their drops lie on one point, which says nothing."""
    sides = outputs([0.9] * count), outputs([0.8, 0.81, 0.82, 0.83, 0.84][:count])
    change = measured_change(metric, FEEDS[:count], *sides)
    assert change.width == math.inf and change.few
    said = f"({count} input{'s' if count > 1 else ''}, no interval: fewer than 6 show no spread)"
    assert change.label.endswith(said)


@pytest.mark.parametrize(("metric", "unseen"), [(scores, 0.06), (mean, 0.075)])
def test_inputs_of_one_drop_may_hide_another(metric: Any, unseen: float) -> None:
    change = measured_change(metric, FEEDS, outputs([0.8] * 40), outputs([0.7] * 40))
    assert (change.low, change.high) == (pytest.approx(0.1 - unseen), pytest.approx(0.1 + unseen))
    assert change.unseen == pytest.approx(unseen)
    assert f"all of one drop: it reaches {unseen:g} further for what they do not show" in change.label


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


@pytest.mark.parametrize(
    ("cost", "seconds", "calls", "slow"),
    [(0.01, math.inf, 500, False), (0.01, 4.0, 200, False), (0.01, 1.9, 1, True), (0.0, 0.0, 500, False)],
)
def test_a_metric_of_one_number_is_called_as_often_as_there_is_time(
    cost: float, seconds: float, calls: int, slow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = {"now": 0.0, "calls": -2}  # once for each side before anything is drawn

    def metric(feeds: Any, given_outputs: Any) -> float:
        clock["now"] += cost
        clock["calls"] += 1
        return mean(feeds, given_outputs)

    monkeypatch.setattr("hotlap.verify.metric.time.monotonic", lambda: clock["now"])
    a, b = np.linspace(0, 1, 40), np.linspace(0, 0.9, 40)
    change = measured_change(metric, FEEDS, outputs(a), outputs(b), seconds=seconds)
    assert clock["calls"] == pytest.approx(2 * calls, abs=2) and change.slow == slow
    assert (change.low is None) == slow
    assert ("takes too long to be called again and again" in change.label) == slow


def test_labels_of_rows_are_cut_to_their_inputs() -> None:
    assert [list(part) for part in split_labels([1, 2, 3], [1, 2])] == [[1], [2, 3]]
    assert split_labels(["a", "b"], [4, 2]) == ["a", "b"]
    assert split_labels([[1], [2, 3], [4], [5]], [2, 2]) == [[[1], [2, 3]], [[4], [5]]]
    with pytest.raises(UsageError, match="4 labels for 2 inputs of 3 rows"):
        split_labels([1, 2, 3, 4], [1, 2])
