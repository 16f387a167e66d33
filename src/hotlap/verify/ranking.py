"""Rows that rank: is the largest value at the same place, and is it still among the five largest?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["FIVE", "Ranks"]

FIVE = 5
"""Rows of more values than this are also asked whether the reference's first is among so many largest."""


@dataclass(slots=True)
class Ranks:
    """The ranking rows of one output so far.

    Attributes:
        axis: along which the largest value is the answer.
        rows: that were compared.
        agree: of them, those whose largest value is at the same place.
        differ: those where it is not, though the reference's own lead was more than a tie.
        long: rows of more than `FIVE` values.
        five: of them, those where the reference's first is among the candidate's `FIVE` largest.
    """

    axis: int
    rows: int = 0
    agree: int = 0
    differ: int = 0
    long: int = 0
    five: int = 0

    def add(self, before: npt.NDArray[Any], after: npt.NDArray[Any], tie: float) -> None:
        """The two sides' values for one input; equal in form, one axis or more.

        Args:
            tie: the reference's lead below which its first place is not certain; absolute.
        """
        a, b = (np.moveaxis(side, self.axis, -1) for side in (before, after))
        a, b = a.reshape(-1, a.shape[-1]), b.reshape(-1, b.shape[-1])
        first, chosen, rows = a.argmax(axis=-1), b.argmax(axis=-1), np.arange(len(a))
        # NaN counts as the largest, so a row with one on both sides agrees; on one side it is broken.
        moved = first != chosen
        margin = a[rows, first][moved].astype(np.float64) - a[rows, chosen][moved]
        self.rows += len(a)
        self.agree += int(len(a) - moved.sum())
        self.differ += int((margin > tie).sum())
        if a.shape[-1] > FIVE:
            ahead = (b > b[rows, first][:, None]).sum(axis=-1)
            self.long += len(a)
            self.five += int((ahead < FIVE).sum())

    @property
    def top1(self) -> float | None:
        return self.agree / self.rows if self.rows else None

    @property
    def top5(self) -> float | None:
        return self.five / self.long if self.long else None
