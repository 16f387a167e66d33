"""Two measurements against each other: a ratio, its interval, a verdict, and the doubts."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from hotlap.bench.doubts import VOID, comparison_doubts, disturbed_share
from hotlap.bench.measurement import FORMAT, Measurement, read_struct
from hotlap.bench.stats import Call, bootstrap_ratio, call
from hotlap.plan.files import write_whole

__all__ = ["Comparison", "Tail", "compare_measurements"]


class Tail(msgspec.Struct, frozen=True, kw_only=True):
    """The same ratio at another percentile, beside the headline."""

    percentile: float
    ratio: float
    low: float
    high: float
    verdict: Call


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What was found of the candidate (b) against the baseline (a).

    Attributes:
        percentile: of the latency that the headline compares.
        ratio: baseline / candidate; above 1 the candidate is faster.
        low, high: its 95 % interval.
        verdict: of the candidate; it needs the whole interval beyond 1 ± `stats.MARGIN`.
        tail: the same at p95.
        foreign: share of the usable CPUs that other work took, mean over all processes; None: unknown.
        disturbed: share of the processes that others disturbed (more than `doubts.DISTURBED`).
        void: so many were disturbed that the verdict says nothing; the first doubt tells.
        doubts: one sentence each.
        a, b: all that was measured.
    """

    format: int = FORMAT
    percentile: float
    ratio: float
    low: float
    high: float
    verdict: Call
    tail: Tail
    foreign: float | None
    disturbed: float
    void: bool
    doubts: tuple[str, ...]
    a: Measurement
    b: Measurement

    def save(self, path: str | Path) -> None:
        """Write it as JSON, whole or not at all. Raises StorageError."""
        write_whole(Path(path), msgspec.json.encode(self))

    @classmethod
    def load(cls, path: str | Path) -> Comparison:
        """Read what `save` wrote. Raises UsageError: missing, not a comparison, or by a newer hotlap."""
        return read_struct(path, cls, "comparison")


def compare_measurements(a: Measurement, b: Measurement, *, percentile: float = 50) -> Comparison:
    """The candidate `b` against the baseline `a`; both are given as they were measured.

    Args:
        a, b: ideally measured in one run in balanced order, as `compare` does.
        percentile: of the latency that the headline compares.
    """
    main = bootstrap_ratio(a.log_percentiles(percentile), b.log_percentiles(percentile), a.workload.seed)
    tail = bootstrap_ratio(a.log_percentiles(95), b.log_percentiles(95), a.workload.seed)
    processes = [*a.processes, *b.processes]
    sizes = len(a.processes), len(b.processes)
    disturbed = disturbed_share(processes)
    doubts = comparison_doubts(a, b, main)
    if disturbed > VOID:
        doubts = (
            f"void: other work disturbed {100 * disturbed:.0f} % of the processes; measure again in quiet",
            *doubts,
        )
    known = [p.disturbance for p in processes if p.disturbance is not None]
    return Comparison(
        percentile=percentile,
        ratio=main.value,
        low=main.low,
        high=main.high,
        verdict=call(main.low, main.high, sizes),
        tail=Tail(
            percentile=95,
            ratio=tail.value,
            low=tail.low,
            high=tail.high,
            verdict=call(tail.low, tail.high, sizes),
        ),
        foreign=float(np.mean(known)) if known else None,
        disturbed=disturbed,
        void=disturbed > VOID,
        doubts=doubts,
        a=a,
        b=b,
    )
