"""The statistics of a comparison: ratios of medians across processes, and what may be claimed from them.

A process is the unit of replication. Two processes of the same program differ by more than the calls inside
one do (memory layout, thread placement), so thousands of calls in one process are one sample of that.
"""

from __future__ import annotations

from math import comb
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "MARGIN",
    "RESAMPLES",
    "Call",
    "Ratio",
    "bootstrap_ratio",
    "call",
    "enough_processes",
    "same_within",
]

Call = Literal["faster", "slower", "no difference"]

MARGIN = 0.01
"""A verdict needs the whole interval beyond 1 ± this: identical sessions differ by up to about 1 %."""
RESAMPLES = 10_000
"""With 10,000 the ends of a 95 % interval move by well under a tenth of its width from seed to seed."""
FEW = 6
"""Below this many processes a side the interval is the whole range of the ratios: resampling so few values
gives intervals that are too narrow (of 4 + 4 equal processes, 1 in 35 orders separates them fully)."""


class Ratio(NamedTuple):
    """A ratio with its interval. Above 1: the second side is faster."""

    value: float
    low: float
    high: float


def bootstrap_ratio(
    log_a: npt.ArrayLike,
    log_b: npt.ArrayLike,
    seed: int = 0,
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> Ratio:
    """exp(median(log_a) - median(log_b)) with a percentile bootstrap interval over processes.

    The median holds when one process of a side is several times slower, where a mean and its t interval
    do not. Each side is resampled by itself: the processes are not pairs.

    Args:
        log_a: float[n], the logarithm of each process's percentile (p50, say), baseline.
        log_b: float[m], the same of the candidate.
        seed: fixes the resampling; equal data and seed give equal intervals.
        resamples: how often both sides are drawn again.
        level: how often such an interval holds the truth, 0.95 unless it is one of many.

    Returns:
        the ratio baseline / candidate and its interval; above 1 the candidate is faster.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993), 13.3 (percentile interval).
    """
    a, b = np.asarray(log_a, dtype=np.float64), np.asarray(log_b, dtype=np.float64)
    if a.ndim != 1 or b.ndim != 1 or not a.size or not b.size:
        raise ValueError("each side needs one value per process")
    value = float(np.median(a) - np.median(b))
    if min(a.size, b.size) < FEW:
        low, high = float(a.min() - b.max()), float(a.max() - b.min())
    else:
        draw = np.random.default_rng(seed)
        spread = _medians(a, draw, resamples) - _medians(b, draw, resamples)
        low, high = (float(q) for q in np.quantile(spread, ((1 - level) / 2, (1 + level) / 2)))
    return Ratio(float(np.exp(value)), float(np.exp(low)), float(np.exp(high)))


def _medians(values: npt.NDArray[np.float64], draw: np.random.Generator, resamples: int) -> npt.NDArray[Any]:
    picks = draw.integers(values.size, size=(resamples, values.size))
    medians: npt.NDArray[Any] = np.median(values[picks], axis=1)
    return medians


def enough_processes(processes: tuple[int, int], looks: int = 1) -> bool:
    """Whether so many processes a side can tell two targets apart at all.

    Equal sides come out fully apart in 2 of the 20 orders of 3 + 3, in 2 of the 70 of 4 + 4. That must be
    rarer than 1 time in 20, over all the `looks`.
    """
    return 2 / comb(sum(processes), processes[0]) <= 0.05 / looks


def call(low: float, high: float, processes: tuple[int, int] = (FEW, FEW), looks: int = 1) -> Call:
    """What the interval of a ratio baseline / candidate allows to say of the candidate.

    Args:
        low, high: the interval.
        processes: of each side; of too few nothing is said, see `enough_processes`.
        looks: how many comparisons are made of the run.
    """
    if not enough_processes(processes, looks):
        return "no difference"
    if low > 1 + MARGIN:
        return "faster"
    if high < 1 - MARGIN:
        return "slower"
    return "no difference"


def same_within(low: float, high: float, margin: float) -> bool:
    """Whether a ratio's interval shows that the sides are the same, but for `margin` (0.02: 2 %) at most.

    With the interval of level 1 - 2a these are the two one-sided tests at level a each: neither side is
    slower than the other by the margin or more.

    Source: Schuirmann, J. Pharmacokin. Biopharm. 15 (1987), 657 to 680.
    """
    return 1 / (1 + margin) < low and high < 1 + margin
