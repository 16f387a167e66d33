from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.verify.boxes import Overlaps, iou, look_like_boxes

whole = st.integers(0, 12)
corners = st.tuples(whole, whole, whole, whole).map(
    lambda c: (min(c[0], c[2]), min(c[1], c[3]), max(c[0], c[2]) + 1, max(c[1], c[3]) + 1)
)


def pixels(box: tuple[int, int, int, int]) -> set[tuple[int, int]]:
    left, top, right, bottom = box
    return {(x, y) for x in range(left, right) for y in range(top, bottom)}


@given(corners, corners)
def test_it_is_the_share_of_pixels_that_both_cover(a: tuple, b: tuple) -> None:
    one, two = pixels(a), pixels(b)
    found = iou(np.array([a], np.float32), np.array([b], np.float32))
    assert found[0] == pytest.approx(len(one & two) / len(one | two))


@given(corners, corners)
def test_the_forms_say_the_same(a: tuple, b: tuple) -> None:
    def as_form(box: tuple, form: str) -> np.ndarray:
        left, top, right, bottom = box
        width, height = right - left, bottom - top
        middle = (left + width / 2, top + height / 2, width, height)
        return np.array([middle if form == "cxcywh" else (left, top, width, height)])

    plain = iou(np.array([a], float), np.array([b], float))
    for form in ("xywh", "cxcywh"):
        assert iou(as_form(a, form), as_form(b, form), form) == pytest.approx(plain)


def test_boxes_without_area_and_without_numbers() -> None:
    point, other = np.array([[1.0, 1, 1, 1]]), np.array([[2.0, 2, 2, 2]])
    odd = np.array([[np.nan, 0, 1, 1]])
    assert iou(point, point)[0] == 1 and iou(point, other)[0] == 0
    assert iou(odd, np.array([[0.0, 0, 1, 1]]))[0] == 0


def test_counting_box_by_box() -> None:
    before = np.array([[0, 0, 10, 10, 0.9], [0, 0, 2, 2, 0.5]])
    after = np.array([[0, 0, 10, 9.5, 0.1], [0, 0, 1, 2, 0.5]])
    overlaps = Overlaps("xyxy")
    overlaps.add(before, after)
    overlaps.add(np.zeros((0, 5)), np.zeros((0, 5)))
    assert (overlaps.count, overlaps.near, overlaps.least) == (2, 1, 0.5)
    assert overlaps.mean == pytest.approx(0.725) and overlaps.share == 0.5
    assert Overlaps("xyxy").mean is None and Overlaps("xyxy").share == 1


def test_what_looks_like_boxes() -> None:
    rng = np.random.default_rng(0)
    low = rng.random((20, 2))
    boxes = np.concatenate([low, low + 0.1 + rng.random((20, 2))], axis=-1)
    assert look_like_boxes(boxes) and look_like_boxes(boxes[None]) and look_like_boxes(np.zeros((0, 6)))
    assert look_like_boxes(np.concatenate([boxes, rng.random((20, 2))], axis=-1))
    assert not look_like_boxes(rng.standard_normal((20, 4))), "logits"
    assert not look_like_boxes(boxes[:, ::-1]) and not look_like_boxes(boxes[0])
    assert not look_like_boxes(boxes.astype(np.int64)) and not look_like_boxes(np.tile(boxes, 3))
