"""How often something was done and how long it took: `Total`, and as a histogram `Spread`."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

__all__ = ["BOUNDS", "Spread", "Total"]

_DECADES = (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
BOUNDS: tuple[int, ...] = (*(n * decade for decade in _DECADES for n in (1, 2, 5)), 10_000_000_000)
"""Upper bounds of the histograms' buckets, ns: 10 µs to 10 s, three to a decade."""

_BOUNDS = np.array(BOUNDS, np.int64)


@dataclass(slots=True)
class Total:
    """How often something was done, and the nanoseconds of all times together."""

    count: int = 0
    ns: int = 0

    def add_all(self, ns: npt.NDArray[np.int64]) -> None:
        """Each of these times."""
        self.count += len(ns)
        self.ns += int(ns.sum())


@dataclass(slots=True)
class Spread:
    """The same as a histogram.

    Attributes:
        counts: for each of `BOUNDS` those at most so long and longer than the one before; the last: longer
            than all bounds.
        ns: all together.
    """

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    ns: int = 0

    def add(self, ns: int) -> None:
        self.counts[bisect_left(BOUNDS, ns)] += 1
        self.ns += ns

    def add_all(self, ns: npt.NDArray[np.int64]) -> None:
        """Each of these times."""
        found = np.bincount(_BOUNDS.searchsorted(ns), minlength=len(self.counts)).tolist()
        self.counts = [a + b for a, b in zip(self.counts, found, strict=True)]
        self.ns += int(ns.sum())

    @property
    def count(self) -> int:
        return sum(self.counts)
