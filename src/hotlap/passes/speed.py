"""CPU time a call: what still tells two files apart where other work made the latencies say nothing."""

from __future__ import annotations

import msgspec
import numpy as np

from hotlap.bench import Comparison, Measurement, bootstrap_ratio
from hotlap.bench.stats import Call, call

__all__ = ["CpuTime", "cpu_time", "too_slow"]


class CpuTime(msgspec.Struct, frozen=True, kw_only=True):
    """CPU time a call, all threads together, of the result against its source.

    Attributes:
        ratio: source / result; above 1 the result takes less.
        low, high: its 95 % interval, from the spread between processes.
        verdict: of the result; it needs the whole interval beyond 1 ± `bench.stats.MARGIN`.
    """

    ratio: float
    low: float
    high: float
    verdict: Call


def cpu_time(comparison: Comparison) -> CpuTime | None:
    """The CPU time of both sides, from the processes of a comparison; None where it was not measured."""
    a, b = comparison.a, comparison.b
    if not all(process.cpu_s > 0 for side in (a, b) for process in side.processes):
        return None
    found = bootstrap_ratio(_logs(a), _logs(b), a.workload.seed)
    sizes = len(a.processes), len(b.processes)
    verdict = call(found.low, found.high, sizes)
    return CpuTime(ratio=found.value, low=found.low, high=found.high, verdict=verdict)


def _logs(side: Measurement) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.log([process.cpu_per_call for process in side.processes])


def too_slow(comparison: Comparison, cpu: CpuTime | None) -> str:
    """Why a result that was made for speed alone is not to be written; "" where it may be.

    Args:
        comparison: of source and result.
        cpu: their CPU time; it decides where the comparison is void.
    """
    if not comparison.void:
        return f"it is slower: {comparison.ratio:.2f} times as fast" if comparison.fails() else ""
    if cpu is None:
        return (
            "whether it is faster could not be measured: other work disturbed the processes; measure again "
            "in quiet, or say --no-measure to write it unmeasured"
        )
    if cpu.verdict == "slower":
        return f"it is slower: a call takes {1 / cpu.ratio:.2f} times the CPU time (the latencies are void)"
    return ""
