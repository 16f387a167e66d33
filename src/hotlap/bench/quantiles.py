"""Percentiles of one side, each with an interval of its own, or refused where the samples do not support it.

The rule: at least `EXCEEDANCES` of all samples must be expected beyond it. p99.9 needs 10,000 samples, p99
1,000, p95 200. Of 500 samples half of one lies beyond p99.9, so what would be printed is the largest, called
by another name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hotlap.bench.stats import FEW

__all__ = ["EXCEEDANCES", "Quantile", "needed", "quantile", "supported"]

EXCEEDANCES = 10
_OF_ITS_OWN = 5
"""With so many expected beyond it in every process, each process has a percentile of its own worth having."""
_RESAMPLES = 1000


class Quantile(NamedTuple):
    """A percentile with its 95 % interval, in the samples' unit.

    Attributes:
        value, low, high: the percentile and its interval, from the spread between processes.
        pooled: taken over all samples together, since single processes have too few beyond it; else it is the
            median across processes of each one's percentile.
    """

    value: float
    low: float
    high: float
    pooled: bool


def needed(q: float) -> int:
    """Samples, all processes together, that the q-th percentile needs."""
    share = min(q, 100 - q) / 100
    return 1 if share <= 0 else int(np.ceil(EXCEEDANCES / share - 1e-9))


def supported(q: float, samples: int) -> bool:
    """Whether so many samples support the q-th percentile."""
    return samples >= needed(q)


def quantile(processes: Sequence[npt.NDArray[Any]], q: float, seed: int = 0) -> Quantile | None:
    """The q-th percentile over processes; None where `supported` says no.

    Args:
        processes: the samples of each process.
        q: 0 to 100, both excluded.
        seed: of the resampling.

    The interval is a percentile bootstrap that draws processes, with all their samples; below `stats.FEW`
    processes it is the range of their percentiles.
    """
    total = sum(map(len, processes))
    if not supported(q, total):
        return None
    own = np.array([np.percentile(p, q) for p in processes])
    pooled = min(map(len, processes)) * min(q, 100 - q) / 100 < _OF_ITS_OWN
    value = float(np.percentile(np.concatenate(processes), q)) if pooled else float(np.median(own))
    if len(processes) < FEW:
        low, high = own.min(), own.max()
    else:
        draw = np.random.default_rng(seed)
        picks = draw.integers(len(processes), size=(_RESAMPLES, len(processes)))
        spread = _pooled(processes, q, picks) if pooled else np.median(own[picks], axis=1)
        low, high = np.percentile(spread, (2.5, 97.5))
    return Quantile(value, min(value, float(low)), max(value, float(high)), pooled)


def _pooled(
    processes: Sequence[npt.NDArray[Any]], q: float, picks: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """The pooled percentile of each draw of processes: a weighted one, the samples sorted only once."""
    values = np.concatenate(processes)
    owner = np.repeat(np.arange(len(processes)), [len(p) for p in processes])
    order = np.argsort(values, kind="stable")
    values, owner = values[order], owner[order]
    found = np.empty(len(picks))
    for n, pick in enumerate(picks):
        below = np.cumsum(np.bincount(pick, minlength=len(processes))[owner])
        place = int(np.searchsorted(below, q / 100 * below[-1]))
        found[n] = values[min(place, len(values) - 1)]
    return found
