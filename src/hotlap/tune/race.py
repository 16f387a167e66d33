"""The race: measure all a little, drop what is clearly behind, measure the rest more.

Pure: numbers in, decisions out. Each round gives every survivor one more process. Early rounds know little,
so they drop only what is far behind; later ones drop what is behind beyond the noise. The rules, by the
number n of processes that a candidate has:

    n = 1        its p50 is more than 1.6 times the leader's
    n = 2        its median p50 is more than 1.3 times the leader's
    n = 3 to 5   its best process is slower than the leader's worst, and its median is more than 3 % behind
    n >= 6       the 95 % interval of the ratio to the leader lies above 1.01

One process in ten is slowed by something else on a shared machine, sometimes 2.5 times, which is why the
first two limits are wide and why medians across processes, not means, are compared.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hotlap.bench.stats import bootstrap_ratio

__all__ = ["Race"]

_FAR_BEHIND = {1: 1.6, 2: 1.3}
_BEHIND_BEYOND_NOISE = 1.01
_SEPARATED = 1.03
_SETTLED_AFTER = 6
_LEVEL = 1.02


class Race:
    """Who still runs, and who was dropped after how many processes and why.

    Args:
        labels: the candidates, each named once.
        seed: of the order in each round.
    """

    def __init__(self, labels: Sequence[str], seed: int = 0) -> None:
        self.p50: dict[str, list[float]] = {label: [] for label in labels}
        self.dropped: dict[str, str] = {}
        self._random = np.random.default_rng(seed)

    @property
    def running(self) -> list[str]:
        return [label for label in self.p50 if label not in self.dropped]

    def next_round(self) -> list[str]:
        """The survivors in a fresh order, so that none always runs after the same neighbour."""
        order = self.running
        self._random.shuffle(order)
        return order

    def add(self, label: str, p50_s: float) -> None:
        """One more process of a candidate: the median of its latencies, in seconds."""
        self.p50[label].append(p50_s)

    def remove(self, label: str, reason: str) -> None:
        """Takes out a candidate for a reason of its own (it crashed, a gate refused it)."""
        self.dropped[label] = reason

    def leader(self) -> str | None:
        timed = [label for label in self.running if self.p50[label]]
        return min(timed, key=lambda label: float(np.median(self.p50[label]))) if timed else None

    def drop_the_slow(self) -> list[str]:
        """Drops who is clearly behind the leader; returns their labels."""
        lead = self.leader()
        if lead is None:
            return []
        slow = []
        for label in self.running:
            if label != lead and self.p50[label] and self._behind(label, lead):
                times = float(np.median(self.p50[label])) / float(np.median(self.p50[lead]))
                n = len(self.p50[label])
                self.dropped[label] = f"dropped after {n}: {times:.2f} times the leader's p50 ({lead})"
                slow.append(label)
        return slow

    def _behind(self, label: str, lead: str) -> bool:
        mine, best = np.array(self.p50[label]), np.array(self.p50[lead])
        ratio = float(np.median(mine) / np.median(best))
        n = min(len(mine), len(best))
        if n in _FAR_BEHIND:
            return ratio > _FAR_BEHIND[n]
        if n < _SETTLED_AFTER:
            return ratio > _SEPARATED and float(mine.min()) > float(best.max())
        return _interval(mine, best)[1] > _BEHIND_BEYOND_NOISE

    def settled(self) -> bool:
        """Whether more rounds can no longer change much: one is left, or all have enough processes."""
        running = self.running
        return len(running) <= 1 or all(len(self.p50[r]) >= 2 * _SETTLED_AFTER for r in running)

    def level_with_leader(self) -> list[str]:
        """The survivors as fast as the leader, the leader first: hardly behind, and within the noise.

        The noise alone is not enough: after a few processes it hides large differences as well.
        """
        lead = self.leader()
        if lead is None:
            return []
        best = np.array(self.p50[lead])
        others = [r for r in self.running if r != lead and self.p50[r]]
        found = {r: _interval(np.array(self.p50[r]), best) for r in others}
        return [lead, *(r for r, i in found.items() if i[0] <= _LEVEL and i[1] <= _BEHIND_BEYOND_NOISE)]


def _interval(mine: npt.NDArray[np.float64], best: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    return bootstrap_ratio(np.log(mine), np.log(best))
