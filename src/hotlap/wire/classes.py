"""The classification extension: an output's highest values as ``value:index[:label]`` texts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hotlap.wire.numbers import widened

__all__ = ["classified"]

Array = npt.NDArray[Any]


def classified(array: Array, most: int, labels: Sequence[str] = ()) -> Array:
    """The highest values of each row, the highest first.

    Args:
        array: of numbers. The first of several axes are rows, the others together the classes; a single axis
            is one row.
        most: values of each row; at most as many as there are classes.
        labels: of the classes, in their order; classes beyond them have none.

    Returns:
        An object array [rows, most] of str, or [most] for a single axis. Floats have six decimals, as the
        protocol's first server writes them (C++'s ``std::to_string``). Of equal values the first comes first;
        NaN comes last.
    """
    axes = array.shape if array.ndim > 1 else (1, array.size)
    rows = array.reshape(axes[0], math.prod(axes[1:]))
    if rows.dtype.itemsize == 2 and rows.dtype.kind not in "iu":
        rows = widened(rows)
    count = min(most, rows.shape[1])
    cells = np.empty((len(rows), count), object)
    for number, row in enumerate(rows):
        cells[number] = [_cell(row, place, labels) for place in _highest(row, count)]
    return cells if array.ndim > 1 else cells[0]


def _cell(row: Array, place: int, labels: Sequence[str]) -> str:
    value = row[place]
    text = f"{value:f}" if row.dtype.kind == "f" else str(int(value))
    return f"{text}:{place}:{labels[place]}" if place < len(labels) else f"{text}:{place}"


def _highest(row: Array, count: int) -> list[int]:
    keys = np.where(np.isnan(row), -np.inf, row) if row.dtype.kind == "f" else row
    places = np.arange(len(row))
    if 0 < count < len(row) // 8:
        # A vocabulary has a hundred thousand values: sort only those that can be among the highest.
        places = np.flatnonzero(keys >= np.partition(keys, len(row) - count)[len(row) - count])
    # Backwards twice, so that of equal values the first stays first.
    order = np.argsort(keys[places][::-1], kind="stable")[::-1][:count]
    return [int(p) for p in places[::-1][order]]
