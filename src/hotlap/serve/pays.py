"""How many rows of one call pay, from times that were measured: `Pays`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["GAIN", "Curve", "Pays"]

GAIN = 0.9
"""A row among others must take at most this share of a row alone, or rows go one by one. Less than 10 % would
be within what warm-up can measure, and the first row of a batch waits for the last."""
_NEAR = 1.02
"""Of two numbers of rows that are as good the smaller is taken: its rows are answered sooner."""


@dataclass(frozen=True, slots=True)
class Curve:
    """What a call took with one row and more, all rows of one shape.

    Attributes:
        nbytes: of one row, and of the inputs that have none.
        seconds: number of rows to the seconds of a call; 1 is among them.
    """

    nbytes: int
    seconds: Mapping[int, float]

    @property
    def most(self) -> int:
        return max(self.seconds)

    def at(self, rows: int) -> float:
        """Seconds of a call of so many rows; a straight line between what was measured."""
        known = sorted(self.seconds)
        above = next((n for n in known if n >= rows), known[-1])
        below = max((n for n in known if n <= rows), default=known[0])
        if above <= below:
            return self.seconds[below]
        part = (rows - below) / (above - below)
        return self.seconds[below] + part * (self.seconds[above] - self.seconds[below])

    def best(self, *, measured: bool = False) -> list[int]:
        """For 0, 1, 2, … rows that wait, up to `most`: how many of them should share a call.

        Args:
            measured: only a number that was measured.
        """
        numbers = sorted(self.seconds) if measured else range(1, self.most + 1)
        each = {n: self.at(n) / n for n in numbers}
        found = [1]
        for waiting in range(1, self.most + 1):
            there = [n for n in numbers if n <= waiting]
            least = min(each[n] for n in there)
            good = next(n for n in there if each[n] <= least * _NEAR)
            found.append(good if least <= GAIN * each[1] else 1)
        return found


class Pays:
    """How many of the rows that wait should share a call.

    Args:
        curves: one for each shape of rows that was measured; none: no row ever shares a call.
    """

    def __init__(self, *curves: Curve) -> None:
        self._tables = [(math.log(max(1, c.nbytes)), c, (c.best(), c.best(measured=True))) for c in curves]

    @property
    def most(self) -> int:
        """Rows that ever share a call; 1: none."""
        return max((best[-1] for _, _, bests in self._tables for best in bests), default=1)

    def rows(self, rows: int, nbytes: int, *, measured: bool = False) -> int:
        """How many of `rows` rows, of `nbytes` bytes in all, should share a call.

        Rows of another size than was measured are judged by the nearest, and a call never has more bytes than
        a measured one had.

        Args:
            measured: only a number that was measured.
        """
        if rows < 2 or not self._tables:
            return 1
        size = math.log(max(1.0, nbytes / rows))
        _, curve, bests = min(self._tables, key=lambda t: abs(t[0] - size))
        most = min(rows, curve.most, int(curve.most * curve.nbytes * rows // max(1, nbytes)))
        return bests[measured][max(1, most)]
