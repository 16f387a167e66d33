"""Counting the differences of one output, input by input, so that no data set must fit into memory."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hotlap.verify.boxes import Overlaps
from hotlap.verify.index import index_text
from hotlap.verify.levels import NEAR, NOISE_FACTOR, RELATIVE_FROM
from hotlap.verify.ranking import Ranks
from hotlap.verify.span import Span
from hotlap.verify.verdict import Noise, OutputDiff

__all__ = ["Tally", "Worst"]

Array = npt.NDArray[Any]

_PLAIN = 400
"""Values below 2**400 (2.6e120) can be squared and summed; so can those above 2**-400."""


@dataclass(slots=True)
class Worst:
    """One value of an output that differs.

    Attributes:
        share: by how much, of the output's scale.
        output, place, input: where: name, index such as "[0, 3]" ("" for a value without axes), number.
        before, after: as text.
    """

    share: float
    output: str
    place: str
    input: int
    before: str
    after: str

    @property
    def where(self) -> str:
        return f'output "{self.output}"{self.place} of input {self.input}'

    @property
    def told(self) -> str:
        return f"{self.where}: {self.before} became {self.after}"


@dataclass(slots=True)
class Tally:
    """The differences of one output so far.

    Attributes:
        noise: the reference's own, where it is known: then rows are ranked, and ties within it are forgiven.
        count, near, broken: values; those within `levels.NEAR`; those that are no number on one side alone.
        largest, total, squares: of the absolute differences, in `_unit`s: the most, sum, sum of squares.
        relative, relative_total, relative_count: of the differences as shares of each value itself: the most,
            sum, number; of values that are not next to nothing.
        alike: values that are the same NaN or infinity on both sides; `alike_in`: the first input with one.
        ranks, boxes: where rows rank, or are boxes.
        worst, odd: the value that differs most, and the first that is no number on one side alone.
    """

    name: str
    span: Span
    noise: Noise | None = None
    count: int = 0
    near: int = 0
    broken: int = 0
    largest: float = 0.0
    total: float = 0.0
    squares: float = 0.0
    relative: float = 0.0
    relative_total: float = 0.0
    relative_count: int = 0
    product: float = 0.0
    norms: tuple[float, float] = (0.0, 0.0)
    ranks: Ranks | None = None
    boxes: Overlaps | None = None
    worst: Worst | None = None
    odd: Worst | None = None
    alike: int = 0
    alike_in: int | None = None

    def __post_init__(self) -> None:
        if self.span.axis is not None:
            self.ranks = Ranks(self.span.axis)
        if self.span.boxes is not None:
            self.boxes = Overlaps(self.span.boxes, named=self.span.boxes_named)

    def add(self, number: int, before: Array, after: Array) -> None:
        """The two sides' values for input `number`; equal in form."""
        self.count += before.size
        if not before.size:
            return
        if before.dtype.kind != "f":
            self._add_exact(number, before, after)
            return
        if not self._add_floats(number, before, after):
            finite = self._add_broken(number, before, after)
            near = np.clip(np.where(finite, after, 0).astype(np.float64), -self._far, self._far)
            self._add_floats(number, np.where(finite, before, 0), near)
        if self.ranks is not None and self.noise is not None and before.ndim:
            self.ranks.add(before, after, self.tie)
        if self.boxes is not None:
            self.boxes.add(before, after)

    def _add_exact(self, number: int, before: Array, after: Array) -> None:
        differs = np.asarray(before != after)
        self.near += int(differs.size - differs.sum())
        if differs.any() and self.worst is None:
            place = np.unravel_index(int(np.argmax(differs)), differs.shape)
            said = (repr(side[place].item()) for side in (before, after))
            self.worst = Worst(1.0, self.name, index_text(place), number, *said)

    def _add_floats(self, number: int, before: Array, after: Array) -> bool:
        """False, and nothing added, where a value is NaN, infinite, or too far off to be squared."""
        with np.errstate(invalid="ignore", over="ignore"):
            a, b = (side.ravel().astype(np.float64) for side in (before, after))
            if self._unit != 1:
                a, b = a / self._unit, b / self._unit
            difference = a - b
            squares = float(difference @ difference)
            own = float(a @ a)
        if not (math.isfinite(squares) and math.isfinite(own)):
            return False
        self.squares += squares
        # Not |a|² - 2 a·d + |d|²: where b is much smaller than a, nothing of it would be left.
        self.product += float(a @ b)
        self.norms = (self.norms[0] + own, self.norms[1] + float(b @ b))
        np.abs(difference, out=difference)
        self.total += float(difference.sum())
        self._add_relative(difference, a)
        at = int(np.argmax(difference))
        largest, limit = float(difference[at]), NEAR * (self.span.scale / self._unit)
        self.near += difference.size if largest <= limit else int(np.count_nonzero(difference <= limit))
        if largest > self.largest:
            self.largest = largest
            place = np.unravel_index(at, before.shape)
            said = (f"{float(side[place]):.6g}" for side in (before, after))
            self.worst = Worst(self._share(largest), self.name, index_text(place), number, *said)
        return True

    def _add_relative(self, difference: Array, before: Array) -> None:
        size = np.abs(before)
        counts = size > RELATIVE_FROM * (self.span.size / self._unit)
        shares = difference[counts] / size[counts]
        if shares.size:
            self.relative = max(self.relative, float(shares.max()))
            self.relative_total += float(shares.sum())
            self.relative_count += shares.size

    def _add_broken(self, number: int, before: Array, after: Array) -> Array:
        """Counts values that are no numbers on one side alone; returns where both are."""
        finite = np.isfinite(before) & np.isfinite(after)
        odd = ~finite & ~((before == after) | (np.isnan(before) & np.isnan(after)))
        if alike := int((~finite & ~odd).sum()):
            self.alike += alike
            self.alike_in = number if self.alike_in is None else self.alike_in
        if odd.any():
            place = np.unravel_index(int(np.argmax(odd)), odd.shape)
            self.broken += int(odd.sum())
            said = (str(side[place]) for side in (before, after))
            self.odd = self.odd or Worst(math.inf, self.name, index_text(place), number, *said)
        return finite

    @property
    def _unit(self) -> float:
        """What values are counted in. Squares of values beyond about 1e150 or below 1e-150 are no longer
        float64; a power of two keeps every digit."""
        exponent = math.frexp(self.span.size)[1]
        return 1.0 if abs(exponent) < _PLAIN else math.ldexp(1.0, exponent - 1)

    @property
    def _far(self) -> float:
        """Beyond this a value is wrong by any measure, and its square would be no float64."""
        return min(self._unit * 2.0**_PLAIN, sys.float_info.max)

    def _share(self, distance: float) -> float:
        """A distance in units, as a share of the scale."""
        return distance * (self._unit / self.span.scale)

    def _whole(self, distance: float) -> float:
        """A distance in units, as a plain number."""
        return min(distance * self._unit, sys.float_info.max)

    @property
    def share(self) -> float:
        """The largest difference, as a share of the scale."""
        return self._share(self.largest)

    @property
    def tie(self) -> float:
        """The reference's own lead below which its first place is not certain; absolute."""
        noise = self.noise.max_rel if self.noise else 0.0
        return (NOISE_FACTOR * noise + self.span.floor) * self.span.scale

    @property
    def cosine(self) -> float:
        a, b = self.norms
        if not a or not b:
            return 1.0 if a == b else 0.0
        return self.product / math.sqrt(a) / math.sqrt(b)

    @property
    def within(self) -> float:
        return self.near / self.count if self.count else 1.0

    @property
    def rms(self) -> float:
        return self._share(math.sqrt(self.squares / self.count)) if self.count else 0.0

    def diff(self, reshaped: float) -> OutputDiff:
        return OutputDiff(
            name=self.name,
            max_abs=self._whole(self.largest),
            mean_abs=self._whole(self.total / self.count) if self.count else 0.0,
            max_rel=self.share,
            mean_rel=self._share(self.total / self.count) if self.count else 0.0,
            max_relative=self.relative,
            mean_relative=self.relative_total / self.relative_count if self.relative_count else 0.0,
            rms=self.rms,
            range=self.span.scale,
            cosine=self.cosine,
            within=self.within,
            top1=self.ranks.top1 if self.ranks else None,
            top1_rows=self.ranks.rows if self.ranks else 0,
            top1_differ=self.ranks.differ if self.ranks else 0,
            top5=self.ranks.top5 if self.ranks else None,
            boxes=self.boxes.count if self.boxes else 0,
            iou=self.boxes.mean if self.boxes else None,
            iou_least=self.boxes.least if self.boxes and self.boxes.count else None,
            broken=self.broken,
            not_finite=self.alike,
            reshaped=reshaped,
            noise=self.noise,
        )
