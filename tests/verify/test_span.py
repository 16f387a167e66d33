from __future__ import annotations

import numpy as np
import pytest

from hotlap.errors import UsageError
from hotlap.verify.span import packed_spans, spans, unpacked_spans


def of(*arrays: np.ndarray, axis: int | None = None):
    return spans([{"y": a} for a in arrays], {} if axis is None else {"y": axis})["y"]


def test_the_range_is_taken_over_all_answers() -> None:
    span = of(np.array([0.0, 1.0]), np.array([-3.0]))
    assert (span.low, span.high, span.scale) == (-3.0, 1.0, 4.0)


def test_values_that_are_no_numbers_are_left_out_of_the_range() -> None:
    span = of(np.array([np.nan, 2.0, np.inf, -np.inf, 1.0], np.float32), np.array([np.nan], np.float32))
    assert (span.low, span.high) == (1.0, 2.0)
    assert of(np.array([np.nan], np.float32)).scale == 1.0


def test_a_constant_output_is_measured_by_its_size() -> None:
    assert of(np.full(3, -7.0)).scale == 7.0
    assert of(np.zeros(3)).scale == 1.0
    assert of(np.array([1.0, 1.0 + 1e-7])).scale == pytest.approx(1.0)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_floor_is_a_few_units_of_the_type(dtype: type) -> None:
    assert of(np.array([0, 1], dtype)).floor == 4 * float(np.finfo(dtype).eps)


def test_numbers_of_python_have_the_precision_that_all_answers_show() -> None:
    """A 0.5 may come from any type; one answer with a number that only float64 holds settles it."""
    even, narrow = [{"a": 0.5, "b": 0.5}], [{"a": float(np.float32(0.1)), "b": 0.25}]
    wide = [{"a": 0.1, "b": 0.9}]
    for answers, dtype in (
        ((even, narrow), np.float32),
        ((even, wide), np.float64),
        ((wide, even), np.float64),
    ):
        span = spans([{"y": a} for a in answers], {})["y"]
        assert span.epsilon == float(np.finfo(dtype).eps)


def test_rows_that_are_probabilities_are_ranked() -> None:
    rows = np.array([[0.25, 0.75], [0.5, 0.5]], np.float32)
    assert of(rows).axis == -1
    assert of(rows, np.array([[0.2, 0.2]], np.float32)).axis is None
    assert of(np.array([[1.0], [1.0]])).axis is None, "one value is no ranking"
    assert of(np.array([[1.5, -0.5]])).axis is None
    assert of(np.array([[1, 0]])).axis is None, "integers are no probabilities"
    assert of(np.array([[np.nan, 1.0]])).axis is None


def test_an_axis_that_is_named_is_ranked() -> None:
    assert of(np.array([[3.0, 9.0]]), axis=0).axis == 0


@pytest.mark.parametrize(
    ("value", "scores", "said"),
    [
        (np.zeros((2, 2)), {"z": 0}, r'no output "z"'),
        (np.zeros((2, 2)), {"yy": 0}, r'did you mean "y"'),
        (np.zeros((2, 2)), {"y": 2}, "2 axes, so there is no axis 2"),
        (np.zeros(2, np.int64), {"y": 0}, "int64, which has no ranking"),
    ],
)
def test_scores_that_cannot_be_are_refused(value: np.ndarray, scores: dict[str, int], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        spans([{"y": value}], scores)


def test_spans_survive_the_way_to_another_process() -> None:
    known = spans([{"y": np.array([[0.25, 0.75]]), "n": np.array([1]), "x": np.full(2, np.nan)}], {})
    assert unpacked_spans(packed_spans(known)) == known


def test_many_rows_in_order_are_boxes_and_named_ones_always() -> None:
    boxes = np.array([[n, n, n + 10, n + 10] for n in range(8)], np.float32)
    assert of(boxes).boxes == "xyxy" and not of(boxes).boxes_named
    assert of(boxes[:4], boxes[4:]).boxes == "xyxy"
    assert of(boxes[:7]).boxes is None and of(boxes, boxes[:, ::-1]).boxes is None
    named = spans([{"y": boxes[:1]}], {}, {"y": "cxcywh"})["y"]
    assert (named.boxes, named.boxes_named) == ("cxcywh", True)
    assert unpacked_spans(packed_spans({"y": named}))["y"] == named
    for form, array, said in (
        ("xyz", boxes, 'no form "xyz"'),
        ("xyxy", boxes[:, :3], r"float32\[8, 3\]; boxes are floats"),
        ("xyxy", boxes.astype(np.int64), "int64"),
    ):
        with pytest.raises(UsageError, match=said):
            spans([{"y": array}], {}, {"y": form})
    with pytest.raises(UsageError, match='boxes: no output "z"'):
        spans([{"y": boxes}], {}, {"z": "xyxy"})
