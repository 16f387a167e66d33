"""How far apart two answers are, and how far rounding alone can put them.

Two bounds. A row beside other rows, at the same place of a batch of the same size, goes through the same
kernels in the same order, so its bits are the same: `SAME_SHAPE` leaves some units in the last place. A row
alone and the row in a batch go through different kernels, which sum in another order: `rounding` allows for
half of the digits, the square root of the machine epsilon. In the twelve models of the benchmarks such
differences are 7e-5 of the output's range at most, and mostly 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["SAME_SHAPE", "gap", "is_float", "is_tensor", "rounding", "usable"]

Array = npt.NDArray[Any]

_SINGLE = float(np.finfo(np.float32).eps)
_BRAIN = 2.0**-7
"""Epsilon of bfloat16, taken for float8 and the like too: theirs would allow for anything."""

SAME_SHAPE = 8 * _SINGLE
"""A share of the range, for tries of equal shapes."""


def is_tensor(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def rounding(array: Array) -> float:
    """The share of its range by which rounding may move an answer when shapes differ: √ε of its type.

    At least that of float32, since a model may compute in it and cast the answer to float64. 0 for what is no
    float: an integer is right or wrong.
    """
    if not is_float(array):
        return 0.0
    eps = _BRAIN if _is_foreign(array) else max(float(np.finfo(array.dtype).eps), _SINGLE)
    return float(np.sqrt(eps))


def is_float(array: Array) -> bool:
    return array.dtype.kind in "fc" or (_is_foreign(array) and "float" in array.dtype.name)


def _is_foreign(array: Array) -> bool:
    """A type of ml_dtypes, whatever kind it says that it is."""
    return array.dtype.isbuiltin == 2


def gap(one: Any, other: Any) -> float:
    """The largest difference of two answers, as a share of the range of what differs; 0.0: equal bits.

    NaN at the same place on both sides is equal. Infinite where shapes or types differ, where NaN or infinity
    stands against a number, and where text or whole numbers differ at all.

    The range is that of the elements that differ: models fill in what is masked with -1e9 or -3e38, and such
    a constant would hide every difference.
    """
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape or one.dtype != other.dtype:
        return float("inf")
    if _is_foreign(one) and is_float(one):
        one, other = one.astype(np.float32), other.astype(np.float32)
    same = one == other
    if one.dtype.kind in "fc":
        same |= (one != one) & (other != other)
    if np.all(same):
        return 0.0
    if one.dtype.kind not in "fc":
        return float("inf")
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    a, b = one[~same].astype(wide), other[~same].astype(wide)
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return float("inf")
    scale = max(np.abs(a).max(), np.abs(b).max())
    return float(np.abs(a / scale - b / scale).max())


def usable(answer: Array) -> bool:
    """It holds something that a comparison could tell apart: not empty, and not NaN or infinite all over."""
    if answer.size == 0:
        return False
    return not is_float(answer) or bool(np.isfinite(answer.astype(np.complex128)).any())
