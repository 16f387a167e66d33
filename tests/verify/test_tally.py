from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from hotlap.verify.span import spans
from hotlap.verify.tallies import Tallies
from hotlap.verify.verdict import Noise, OutputDiff

QUIET = {"y": Noise()}


def compare(before: list, after: list, noise=QUIET, **scores: int) -> tuple[Tallies, OutputDiff]:
    tallies = Tallies(spans([{"y": a} for a in before], scores), noise)
    for number, (a, b) in enumerate(zip(before, after, strict=True)):
        tallies.add(number, {"y": a}, {"y": b})
    return tallies, tallies.diffs()[0]


@given(
    arrays.arrays(np.float32, (5, 3), elements=st.floats(-1e6, 1e6, width=32)),
    arrays.arrays(np.float32, (5, 3), elements=st.floats(-1e6, 1e6, width=32)),
)
def test_the_numbers_are_those_of_the_whole_at_once(a: np.ndarray, b: np.ndarray) -> None:
    _, diff = compare(list(a), list(b))
    wide_a, wide_b = a.astype(float), b.astype(float)
    difference = np.abs(wide_a - wide_b)
    assert diff.max_abs == difference.max()
    assert diff.rms * diff.range == pytest.approx(np.sqrt((difference**2).mean()), rel=1e-9, abs=1e-12)
    assert diff.within == (difference <= 0.02 * diff.range).mean()
    norm = np.linalg.norm(wide_a) * np.linalg.norm(wide_b)
    if norm > 1e-3:
        assert diff.cosine == pytest.approx((wide_a * wide_b).sum() / norm, abs=1e-6)


def test_the_worst_value_is_named_with_its_place() -> None:
    tallies, _ = compare(
        [np.zeros((2, 2)), np.array([[0, 0], [0, 8.0]])], [np.zeros((2, 2)), np.zeros((2, 2))]
    )
    worst = tallies.tallies["y"].worst
    assert worst is not None
    assert (worst.where, worst.before, worst.after) == ('output "y"[1, 1] of input 1', "8", "0")


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_must_be_so_on_both_sides(odd: float) -> None:
    _, same = compare([np.array([odd, 1.0])], [np.array([odd, 1.0])])
    assert (same.broken, same.within, same.max_abs) == (0, 1.0, 0.0)
    tallies, broken = compare([np.array([odd, 1.0])], [np.array([3.0, 1.0])])
    assert broken.broken == 1
    assert tallies.tallies["y"].odd.told == f'output "y"[0] of input 0: {odd} became 3.0'
    assert compare([np.array([3.0, 1.0])], [np.array([odd, 1.0])])[1].broken == 1


def test_infinities_of_other_signs_differ() -> None:
    assert compare([np.array([np.inf])], [np.array([-np.inf])])[1].broken == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (np.array([1, 2, 3, 4]), np.array([1, 2, 3, 5])),
        (np.array(["a", "b", "c", "d"]), np.array(["a", "b", "c", "longer"])),
        (np.array([True, True, True, False]), np.array([True] * 4)),
    ],
)
def test_what_is_no_float_is_equal_or_not(before: np.ndarray, after: np.ndarray) -> None:
    tallies, diff = compare([before], [after])
    assert diff.within == 0.75
    worst = tallies.tallies["y"].worst
    assert worst is not None and worst.where == 'output "y"[3] of input 0'


def test_scalars_and_empty_outputs_are_fine() -> None:
    assert compare([np.array(2.0)], [np.array(2.5)])[1].max_abs == 0.5
    empty = compare([np.zeros((0, 3))], [np.zeros((0, 3))])[1]
    assert (empty.within, empty.cosine, empty.rms) == (1.0, 1.0, 0.0)


def test_zeros_against_numbers_have_no_cosine() -> None:
    assert compare([np.zeros(2)], [np.zeros(2)])[1].cosine == 1.0
    assert compare([np.zeros(2)], [np.ones(2)])[1].cosine == 0.0


def test_first_places_are_counted_row_by_row() -> None:
    before = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    after = np.array([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4]])
    _, diff = compare([before], [after])
    assert (diff.top1, diff.top1_rows, diff.top1_differ) == (pytest.approx(2 / 3), 3, 1)


def test_a_tie_within_the_noise_is_forgiven() -> None:
    before, after = np.array([[0.501, 0.499]]), np.array([[0.499, 0.501]])
    assert compare([before], [after])[1].top1_differ == 1
    forgiven = compare([before], [after], {"y": Noise(max_rel=1.0)})[1]
    assert (forgiven.top1, forgiven.top1_differ) == (0.0, 0)


def test_the_axis_that_is_named_ranks() -> None:
    before, after = np.array([[1.0, 5.0], [2.0, 4.0]]), np.array([[3.0, 5.0], [2.0, 4.0]])
    diff = compare([before], [after], y=0)[1]
    assert (diff.top1_rows, diff.top1_differ) == (2, 1)


def test_other_shapes_types_and_missing_outputs_are_told() -> None:
    tallies, diff = compare([np.zeros((1, 3), np.float32)], [np.zeros((1, 4), np.float32)])
    assert tallies.reshaped["y"] == (1, 'output "y" of input 0: float32[1, 3] became float32[1, 4]', 0)
    assert diff.reshaped == 1.0
    other, _ = compare([np.zeros(3, np.float32)], [np.zeros(3, np.float16)])
    assert "float32[3] became float16[3]" in other.reshaped["y"][1]
    missing = Tallies(spans([{"y": np.zeros(1)}], {}))
    missing.add(0, {"y": np.zeros(1)}, {"z": np.zeros(1)})
    assert missing.reshaped["y"][1] == 'output "y" is missing'


def test_more_outputs_than_the_reference_has_do_not_matter() -> None:
    tallies = Tallies(spans([{"y": np.zeros(1)}], {}))
    tallies.add(0, {"y": np.zeros(1)}, {"y": np.zeros(1), "z": np.ones(9)})
    assert not tallies.reshaped and len(tallies.diffs()) == 1


def test_sequences_and_maps_are_compared_inside() -> None:
    before = [{"a": 0.25, "b": 0.75}, {"a": 0.5, "b": 0.5}]
    after = [{"a": 0.75, "b": 0.25}, {"a": 0.5, "b": 0.5}]
    _, diff = compare([before], [after])
    assert (diff.max_abs, diff.top1_differ, diff.top1_rows) == (0.5, 1, 2)


def test_differences_as_noise() -> None:
    tallies, _ = compare([np.array([0.0, 1.0])], [np.array([0.0, 0.5])])
    assert tallies.as_noise()["y"] == Noise(max_rel=0.5, rms=pytest.approx(0.5 / 2**0.5))
    ints, _ = compare([np.array([0, 1])], [np.array([0, 2])])
    assert ints.as_noise()["y"] == Noise(mismatched=0.5)


@pytest.mark.parametrize(
    ("before", "after"),
    [([1e200, 1.0], [2e200, 1.0]), ([1e308, -1e308], [-1e308, 1e308]), ([1.0, 2.0], [1e200, 2.0])],
    ids=["beyond the root of float64", "a range beyond float64", "the candidate alone"],
)
def test_differences_too_large_to_be_squared_count(before: list[float], after: list[float]) -> None:
    _, diff = compare([np.array(before)], [np.array(after)])
    assert diff.max_rel >= 0.5 and diff.rms > 0.5 and diff.within < 1
    assert np.isfinite([diff.max_abs, diff.max_rel, diff.rms, diff.range, diff.cosine]).all()


def test_differences_too_small_to_be_squared_count() -> None:
    _, diff = compare([np.array([1e-200, 2e-200, 3e-200])], [np.array([3e-200, 1e-200, 2e-200])])
    assert (diff.max_rel, diff.within) == (pytest.approx(1.0), 0.0)
    assert diff.rms == pytest.approx(np.sqrt(0.5)) and diff.cosine == pytest.approx(11 / 14)


def test_a_candidate_that_is_almost_zero_has_a_cosine() -> None:
    _, diff = compare([np.array([32768.0, *[1.0] * 14])], [np.full(15, 2.0**-23)])
    assert diff.cosine == pytest.approx((32768 + 14) / np.sqrt(32768.0**2 + 14) / np.sqrt(15))


@given(
    arrays.arrays(np.float32, (5, 3), elements=st.floats(-1e3, 1e3, width=32)),
    arrays.arrays(np.float32, (5, 3), elements=st.floats(-1e3, 1e3, width=32)),
)
def test_means_and_relative_errors_are_those_of_plain_loops(a: np.ndarray, b: np.ndarray) -> None:
    _, diff = compare(list(a), list(b))
    pairs = [(float(x), float(y)) for x, y in zip(a.ravel(), b.ravel(), strict=True)]
    absolute = [abs(x - y) for x, y in pairs]
    assert diff.mean_abs == pytest.approx(sum(absolute) / 15, rel=1e-9, abs=1e-30)
    assert diff.mean_rel == pytest.approx(diff.mean_abs / diff.range, rel=1e-9)
    size = max(abs(x) for x, _ in pairs)
    relative = [abs(x - y) / abs(x) for x, y in pairs if abs(x) > 1e-6 * size]
    assert diff.max_relative == pytest.approx(max(relative, default=0.0), rel=1e-9)
    assert diff.mean_relative == pytest.approx(sum(relative) / max(len(relative), 1), rel=1e-9)


def test_nan_and_infinity_on_both_sides_are_counted() -> None:
    odd = np.array([np.nan, np.inf, 1.0], np.float32)
    tallies, diff = compare([np.zeros(3, np.float32), odd], [np.zeros(3, np.float32), odd])
    assert (diff.not_finite, diff.broken, diff.within) == (2, 0, 1.0)
    assert tallies.tallies["y"].alike_in == 1


def test_boxes_are_compared_box_by_box() -> None:
    boxes = np.array([[n, n, n + 10, n + 10] for n in range(8)], np.float32)
    moved = boxes + np.array([0, 0, 0, -5], np.float32)
    _, diff = compare([boxes, boxes[:0]], [moved, boxes[:0]])
    assert (diff.boxes, diff.iou, diff.iou_least) == (8, 0.5, 0.5)
    assert compare([boxes[:3]], [moved[:3]])[1].iou is None, "too few to be sure that they are boxes"
