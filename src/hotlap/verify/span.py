"""What the values of each output span over the whole data set: the measure that differences are shares of."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from hotlap.errors import UsageError
from hotlap.tensors import nearest
from hotlap.verify.answers import parts
from hotlap.verify.boxes import FORMATS, look_like_boxes
from hotlap.verify.levels import FLOOR

__all__ = ["Span", "packed_spans", "spans", "unpacked_spans"]

Array = npt.NDArray[Any]

FEWEST_BOXES = 8
"""With fewer rows, numbers that happen to be in order would be taken for boxes."""


@dataclass(slots=True)
class Span:
    """What the reference's values of one output span, over the whole data set.

    Attributes:
        low, high, size: smallest and largest value, and largest magnitude; of finite ones.
        epsilon: of its float type, relative; 0 for what is no float.
        axis: along which the largest value is the answer; None where rows are no ranking.
        boxes: of `boxes.FORMATS`, where rows are boxes.
        boxes_named: the caller said so.
    """

    low: float = math.inf
    high: float = -math.inf
    size: float = 0.0
    epsilon: float = 0.0
    axis: int | None = None
    boxes: str | None = None
    boxes_named: bool = False
    _probable: bool = True
    _boxlike: bool = True
    _rows: int = 0

    def add(self, array: Array) -> None:
        if array.dtype.kind != "f":
            self._probable = self._boxlike = False
            return
        # The finest: numbers that are in no array show their precision, and some of them show too little.
        self.epsilon = min(self.epsilon or math.inf, float(np.finfo(array.dtype).eps))
        if array.size:
            low, high = float(array.min()), float(array.max())
            if not (math.isfinite(low) and math.isfinite(high)):
                finite = array[np.isfinite(array)]
                low, high = float(finite.min(initial=np.inf)), float(finite.max(initial=-np.inf))
            self.low, self.high = min(self.low, low), max(self.high, high)
            if self.low <= self.high:
                self.size = max(abs(self.low), abs(self.high))
        self._probable = self._probable and _are_probabilities(array)
        self._boxlike = self._boxlike and look_like_boxes(array)
        if self._boxlike:
            self._rows += array.size // array.shape[-1]

    def settle(self) -> None:
        """Once all is seen: rows that are all probabilities are ranked along the last axis; many rows that
        are all corners in order are boxes."""
        if self.axis is None and self._probable and self.epsilon:
            self.axis = -1
        if self.boxes is None and self._boxlike and self._rows >= FEWEST_BOXES and not self._probable:
            self.boxes = "xyxy"

    @property
    def scale(self) -> float:
        """What differences are shares of: the range, or the magnitude where the output never changes."""
        width = min(self.high - self.low, sys.float_info.max) if self.high >= self.low else 0.0
        return width if width > 1e-6 * self.size else self.size or 1.0

    @property
    def floor(self) -> float:
        """As a share of the scale: what rounding the largest value by a few units changes."""
        return FLOOR * self.epsilon * self.size / self.scale


def _are_probabilities(array: Array) -> bool:
    """Not negative, and each row of the last axis, two values or more, sums to 1."""
    if array.size == 0:
        return array.ndim > 0
    if array.ndim == 0 or array.shape[-1] < 2 or not array.min() >= 0:
        return False
    slack = max(1e-3, 8 * float(np.finfo(array.dtype).eps))
    return bool((np.abs(array.sum(axis=-1, dtype=np.float64) - 1) <= slack).all())


def spans(
    all_answers: Iterable[Mapping[str, Any]],
    scores: Mapping[str, int],
    boxes: Mapping[str, str] | None = None,
) -> dict[str, Span]:
    """What each output spans, over all answers of the reference.

    Args:
        all_answers: the answers, one after the other.
        scores: output name to the axis that ranks.
        boxes: output name to the form of its boxes, of `boxes.FORMATS`.

    Raises:
        UsageError: a name is no output's; or such an output is no float, or has no such axis, or no boxes.
    """
    boxes = boxes or {}
    found: dict[str, Span] = {}
    for answer in all_answers:
        for what, named in (("scores", scores), ("boxes", boxes)):
            if unknown := [name for name in named if name not in answer]:
                raise UsageError(f'{what}: no output "{unknown[0]}"{nearest(unknown[0], answer)}')
        for name, value in answer.items():
            for label, array in parts(name, value)[1]:
                form = boxes.get(name)
                span = found.setdefault(
                    label, Span(axis=scores.get(name), boxes=form, boxes_named=form is not None)
                )
                _check_axis(name, array, span.axis)
                _check_boxes(name, array, form)
                span.add(array)
    for span in found.values():
        span.settle()
    return found


def _check_axis(name: str, array: Array, axis: int | None) -> None:
    if axis is None:
        return
    if array.dtype.kind != "f":
        raise UsageError(f'scores: output "{name}" holds {array.dtype.name}, which has no ranking')
    if not -array.ndim <= axis < array.ndim:
        raise UsageError(f'scores: output "{name}" has {array.ndim} axes, so there is no axis {axis}')


def _check_boxes(name: str, array: Array, form: str | None) -> None:
    if form is None:
        return
    if form not in FORMATS:
        raise UsageError(f'boxes: no form "{form}"{nearest(form, FORMATS)}; there are {", ".join(FORMATS)}')
    if array.dtype.kind != "f" or not array.ndim or array.shape[-1] < 4:
        told = f"{array.dtype.name}{list(array.shape)}"
        raise UsageError(f'boxes: output "{name}" is {told}; boxes are floats, four or more in each row')


def packed_spans(known: Mapping[str, Span]) -> bytes:
    """Spans for another process."""
    return msgspec.msgpack.encode(known)


def unpacked_spans(packed: bytes) -> dict[str, Span]:
    """What `packed_spans` packed."""
    return msgspec.msgpack.decode(packed, type=dict[str, Span])
