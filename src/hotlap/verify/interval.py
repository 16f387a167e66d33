"""The interval of how much lower one side's scores are than the other's; pure numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hotlap.verify.levels import CONFIDENCE, FEWEST_DRAWS

__all__ = ["NO_INTERVAL", "Interval", "interval_of_calls", "paired_interval"]

Scores = npt.NDArray[np.float64]

RESAMPLES = 10_000
"""Of scores that are there already; the ends of the interval then hardly move from seed to seed."""
_RULE_OF_THREE = 3.0
_LEAST_SPAN = 1.0
"""Of a metric that gives one number, which shows nothing of how far single inputs lie apart: most are shares,
and one that happens to be near 0 spans no less."""
_BLOCK = 1 << 22
_SAME = 1e-12
"""Drops that differ by less than this share of the largest score differ by the rounding of their sums."""


class Interval(NamedTuple):
    """Where the drop lies, with `levels.CONFIDENCE`.

    Attributes:
        low, high: its ends; None where there is none.
        unseen: how far an end was moved for what equal drops do not show; 0 where the drops vary.
    """

    low: float | None
    high: float | None
    unseen: float = 0.0


NO_INTERVAL = Interval(None, None)


def paired_interval(before: Scores, after: Scores, seed: int = 0) -> Interval:
    """The interval of mean(before) - mean(after), for scores of the same rows.

    Args:
        before, after: float64[n], n at least 1.
        seed: equal data and seed give equal intervals.

    Returns:
        no interval for fewer than `levels.FEWEST_DRAWS` scores, or where one is no finite number.
    """
    drops = before - after
    if drops.size < FEWEST_DRAWS or not np.isfinite(drops).all():
        return NO_INTERVAL
    if _equal(drops, before, after):
        size = max(np.abs(before).max(), np.abs(after).max())
        span = max(np.ptp(before), np.ptp(after)) or size or 1.0
        return _around(float(drops.mean()), drops.size, float(span))
    draw = np.random.default_rng(seed)
    block = max(1, _BLOCK // drops.size)
    means = [
        drops[draw.integers(drops.size, size=(min(block, RESAMPLES - start), drops.size))].mean(axis=1)
        for start in range(0, RESAMPLES, block)
    ]
    return _percentiles(np.concatenate(means))


def interval_of_calls(drops: Scores, count: int, before: float, after: float) -> Interval:
    """The interval of before - after, from the drops of `count` inputs that were drawn again and again."""
    if count < FEWEST_DRAWS or not np.isfinite([*drops, before, after]).all():
        return NO_INTERVAL
    sides = np.array([before]), np.array([after])
    if not _equal(drops, *sides):
        return _percentiles(drops)
    return _around(before - after, count, max(abs(before), abs(after), _LEAST_SPAN))


def _percentiles(values: Scores) -> Interval:
    low, high = np.quantile(values, ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2))
    return Interval(float(low), float(high))


def _equal(drops: Scores, before: Scores, after: Scores) -> bool:
    return bool(np.ptp(drops) <= _SAME * max(np.abs(before).max(), np.abs(after).max()))


def _around(drop: float, count: int, span: float) -> Interval:
    """Every draw of equal drops is that very drop; what was not among them is not in any of them either.

    Args:
        drop: all of them.
        count: how many were drawn from.
        span: how far the scores may lie apart.
    """
    unseen = min(_RULE_OF_THREE / count, 1.0) * span
    return Interval(drop - unseen if drop else 0.0, drop + unseen, unseen)
