from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hotlap.runtime.probe.alike import gap, is_tensor, rounding, usable

INF = float("inf")


def test_equal_bits_are_no_gap() -> None:
    nan = np.array([1.0, np.nan, np.inf], np.float32)
    assert gap(nan, nan.copy()) == 0
    assert gap(np.array(["a", "b"], object), np.array(["a", "b"], object)) == 0
    assert gap(np.float32(2), np.float32(2)) == 0
    assert gap(np.zeros(0), np.zeros(0)) == 0


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        (np.array([1.0, 2.0]), np.array([1.0, 1.0]), 0.5),
        # What both sides share does not count for the range: a mask's -1e9 would hide everything.
        (np.array([-1e9, 2.0]), np.array([-1e9, 1.0]), 0.5),
        (np.array([1, 2]), np.array([1, 3]), INF),
        (np.array(["a"], object), np.array(["b"], object), INF),
        (np.array([1.0]), np.array([np.nan]), INF),
        (np.array([np.inf]), np.array([-np.inf]), INF),
        (np.zeros(2), np.zeros(3), INF),
        (np.zeros(2, np.float32), np.zeros(2, np.float64), INF),
        (np.array([3e38, 1], np.float32), np.array([-3e38, 1], np.float32), 2.0),
        (np.array([1e308]), np.array([-1e308]), 2.0),
        (np.array([1 + 1j]), np.array([1 - 1j]), np.sqrt(2)),
        (np.float32(2), np.float32(1), 0.5),
    ],
)
def test_the_gap_is_a_share_of_the_range(one: object, other: object, apart: float) -> None:
    assert gap(one, other) == gap(other, one) == pytest.approx(apart)


def test_types_that_numpy_lacks() -> None:
    import ml_dtypes

    one, other = (np.array([x, 1], ml_dtypes.bfloat16) for x in (2, 1))
    assert gap(one, other) == pytest.approx(0.5)
    assert gap(one, one) == 0
    assert rounding(one) == pytest.approx(2**-3.5)
    assert usable(one) and not usable(np.array([np.nan], ml_dtypes.bfloat16))
    eighth = [np.array([x, 1], ml_dtypes.float8_e5m2) for x in (2, 1)]
    assert (gap(*eighth), rounding(eighth[0])) == (pytest.approx(0.5), rounding(one))
    fours = [np.array([x, 1], ml_dtypes.int4) for x in (2, 1)]
    assert (gap(*fours), rounding(fours[0]), usable(fours[0])) == (INF, 0.0, True)


floats = hnp.arrays(np.float32, 5, elements=st.floats(width=32))


@given(floats, floats)
def test_any_two_arrays_have_a_gap(one: np.ndarray, other: np.ndarray) -> None:
    apart = gap(one, other)
    assert apart == gap(other, one) >= 0
    assert (apart == 0) == np.array_equal(one, other, equal_nan=True)


def test_rounding_is_half_of_the_digits() -> None:
    assert rounding(np.zeros(1, np.float32)) == pytest.approx(3.4527e-4, rel=1e-4)
    assert rounding(np.zeros(1, np.float16)) == pytest.approx(0.03125)
    # The model may compute in float32 and cast.
    assert rounding(np.zeros(1, np.float64)) == rounding(np.zeros(1, np.float32))
    assert rounding(np.zeros(1, np.int64)) == rounding(np.zeros(1, bool)) == 0


def test_what_could_tell_a_difference() -> None:
    assert usable(np.array([1.0, np.nan]))
    assert usable(np.array([1]))
    assert not usable(np.array([np.nan, np.inf]))
    assert not usable(np.zeros(0))
    assert is_tensor(np.zeros(1)) and not is_tensor([np.zeros(1)])
