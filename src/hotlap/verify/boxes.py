"""Boxes: how far those of two sides overlap, box by box (intersection over union, IoU)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hotlap.verify.levels import BOX_IOU

__all__ = ["FORMATS", "Overlaps", "iou", "look_like_boxes"]

Array = npt.NDArray[Any]

FORMATS = {
    "xyxy": "left, top, right, bottom",
    "xywh": "left, top, width, height",
    "cxcywh": "middle (x, y), width, height",
}
"""What the first four numbers of a box may be."""
_MOST_COLUMNS = 7  # four corners, and at most a batch number, a score and a class beside them


def look_like_boxes(array: Array) -> bool:
    """Whether rows are corners in order: (…, N, 4 to 7), each right of its left and below its top.

    Nothing that speaks against it is enough for an array without a row.
    """
    if array.dtype.kind != "f" or array.ndim not in (2, 3) or not 4 <= array.shape[-1] <= _MOST_COLUMNS:
        return False
    left, top, right, bottom = np.moveaxis(array[..., :4], -1, 0)
    return bool(((right > left) & (bottom > top)).all())


def _corners(array: Array, form: str) -> tuple[Array, Array, Array, Array]:
    x, y, third, fourth = np.moveaxis(array[..., :4].astype(np.float64), -1, 0)
    if form == "xyxy":
        return x, y, third, fourth
    if form == "xywh":
        return x, y, x + third, y + fourth
    return x - third / 2, y - fourth / 2, x + third / 2, y + fourth / 2


def iou(before: Array, after: Array, form: str = "xyxy") -> Array:
    """How far boxes overlap, each with the one at the same place of the other side.

    Args:
        before, after: float[…, 4 or more], equal in shape.
        form: of `FORMATS`.

    Returns:
        float64[…] in [0, 1]: the area of the intersection over that of the union. Equal boxes are 1 even
        where they have no area; boxes with NaN or infinity that are not equal are 0.
    """
    a, b = _corners(before, form), _corners(after, form)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        width = np.minimum(a[2], b[2]) - np.maximum(a[0], b[0])
        height = np.minimum(a[3], b[3]) - np.maximum(a[1], b[1])
        shared = np.clip(width, 0, None) * np.clip(height, 0, None)
        areas = [np.clip(s[2] - s[0], 0, None) * np.clip(s[3] - s[1], 0, None) for s in (a, b)]
        found = shared / (areas[0] + areas[1] - shared)
    same = (before[..., :4] == after[..., :4]).all(axis=-1)
    return np.where(same, 1.0, np.where(np.isfinite(found), np.clip(found, 0, 1), 0.0))


@dataclass(slots=True)
class Overlaps:
    """The boxes of one output so far.

    Attributes:
        form: of `FORMATS`.
        named: the caller named them, so that they decide.
        count, total, least: boxes, the sum of their IoU, and the smallest.
        near: boxes with an IoU of `levels.BOX_IOU` or more.
    """

    form: str
    named: bool = False
    count: int = 0
    total: float = 0.0
    least: float = 1.0
    near: int = 0

    def add(self, before: Array, after: Array) -> None:
        """The two sides' values for one input; equal in form."""
        found = iou(before, after, self.form)
        if found.size:
            self.count += found.size
            self.total += float(found.sum())
            self.least = min(self.least, float(found.min()))
            self.near += int((found >= BOX_IOU).sum())

    @property
    def mean(self) -> float | None:
        return self.total / self.count if self.count else None

    @property
    def share(self) -> float:
        """Of the boxes that overlap enough."""
        return self.near / self.count if self.count else 1.0
