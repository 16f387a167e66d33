"""Shapes with symbols: what is known, what clashes, and that numbers agree with numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.inspect.dims import Clash, Dims, broadcast, joined, reshaped


@pytest.mark.parametrize(
    ("shapes", "expected", "clashes"),
    [
        ([("n", 8), (8,)], ("n", 8), []),
        ([("n", 1), (1, "m")], ("n", "m"), []),
        ([("n", 8), ("m", 8)], (None, 8), []),
        ([("n", 8), (2, 8)], (2, 8), [Clash("n", (1, 2))]),
        ([("n", 8), (1, 8)], ("n", 8), []),
        ([("n", None), (1, 4)], ("n", 4), []),
        ([("n",), None], None, []),
        ([], None, []),
    ],
)
def test_broadcast(shapes: list[Dims | None], expected: Dims | None, clashes: list[Clash]) -> None:
    assert broadcast(shapes) == (expected, clashes)


@given(st.lists(st.integers(1, 3), max_size=4), st.lists(st.integers(1, 3), max_size=4))
def test_broadcast_of_numbers_is_numpys(a: list[int], b: list[int]) -> None:
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        return
    assert broadcast([tuple(a), tuple(b)])[0] == expected


@pytest.mark.parametrize(
    ("shapes", "axis", "expected", "clashes"),
    [
        ([("n", 4), ("n", 4)], 1, ("n", 8), []),
        ([("n", 4), (1, 4)], -1, (1, 8), [Clash("n", (1,))]),
        ([("n", 4), ("m", 4)], 1, (None, 8), []),
        ([("n", 4), (1, 4)], 0, (None, 4), []),
        ([("n", 4), (4,)], 0, None, []),
        ([("n", 4)], 5, None, []),
    ],
)
def test_joined(shapes: list[Dims], axis: int, expected: Dims | None, clashes: list[Clash]) -> None:
    assert joined(shapes, axis) == (expected, clashes)


@pytest.mark.parametrize(
    ("data", "target", "expected", "clashes"),
    [
        (("n", 8), (0, 2, 4), ("n", 2, 4), []),
        (("n", 8), (-1, 2, 4), ("n", 2, 4), []),
        (("n", 8), (-1, 4), (None, 4), []),
        (("n", 8), (1, -1), (1, None), []),
        (("n", 8), (1, 2, 4), (1, 2, 4), [Clash("n", (1,))]),
        (("n", 8), (2, 2, 4), (2, 2, 4), [Clash("n", (2,))]),
        (("n", 8), (1, 5), (1, 5), [Clash("n", ())]),
        (("n", "m"), (4, 4), (4, 4), [Clash("n", ()), Clash("m", ())]),
        (("n", 8), ("n", 2, 4), ("n", 2, 4), []),
        (("n", 8), ("m", 8), ("m", 8), []),
        ((3, 8), (4, 6), (4, 6), []),
        (("n", None), (1, 2, 4), (1, 2, 4), []),
        (None, (1, -1), (1, None), []),
        (("n", "m", 8), ("n", -1), ("n", None), []),
        (("n", "m"), ("n", -1), ("n", "m"), []),
    ],
)
def test_reshaped(data: Dims | None, target: Dims, expected: Dims, clashes: list[Clash]) -> None:
    assert reshaped(data, target) == (expected, clashes)


def test_a_size_of_zero_may_be_meant() -> None:
    assert reshaped((0, 3), (3, 0), zero_is_size=True) == ((3, 0), [])


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_reshape_of_numbers_is_numpys(shape: list[int]) -> None:
    target = [*shape[1:], -1]
    expected = np.empty(shape).reshape(target).shape
    assert reshaped(tuple(shape), tuple(target)) == (expected, [])
