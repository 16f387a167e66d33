"""What was measured: `ProcessResult` (one process) and `Measurement` (all processes of one target)."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from hotlap.bench.workload import Target, Workload
from hotlap.errors import UsageError
from hotlap.plan.files import write_whole

__all__ = ["FORMAT", "Measurement", "ProcessResult", "pack", "read_struct"]

# History of the saved format. A newer hotlap reads every older one.
# 1: the first.
FORMAT = 1


def pack(latencies_ns: npt.NDArray[np.int64]) -> bytes:
    """int64[n] nanoseconds as little-endian bytes, deflated (zlib). JSON shows bytes as base64."""
    return zlib.compress(latencies_ns.astype("<i8").tobytes(), level=6)


class ProcessResult(msgspec.Struct, frozen=True, kw_only=True):
    """One fresh process.

    Attributes:
        label: the target's.
        order: its place in the run, from 0, both sides counted together.
        samples: every latency, as `pack` writes it; `latencies_ns` reads it.
        calls: how many.
        feeds: how many different inputs there were to be called with.
        p50, p95: seconds.
        load_s: opening the target, seconds; a plan is not warmed.
        first_call_s: the first call of all, which is not among the samples; seconds.
        wall_s: how long the loop ran, seconds.
        cpu_s: CPU seconds that this process used meanwhile, all its threads together.
        foreign: share (0 to 1) of the CPUs it may use that other processes took meanwhile; None: unknown.
        steal: the same for what the hypervisor took; None: unknown.
        switches: how often it was made to wait for a CPU (involuntary context switches); None: unknown.
        throttled: scheduler periods in which its control group was throttled; None: unknown.
        rss_peak: the most resident memory, bytes; None: unknown.
        threads: how many the target works with, the calling one included.
        retried: how often this place in the order was measured again because others disturbed it.
    """

    label: str
    order: int = 0
    samples: bytes
    calls: int
    feeds: int = 1
    p50: float
    p95: float
    load_s: float = 0.0
    first_call_s: float = 0.0
    wall_s: float
    cpu_s: float
    foreign: float | None = None
    steal: float | None = None
    switches: int | None = None
    throttled: int | None = None
    rss_peak: int | None = None
    threads: int = 1
    retried: int = 0

    @property
    def latencies_ns(self) -> npt.NDArray[np.int64]:
        """int64[calls], nanoseconds, in the order of the calls."""
        return np.frombuffer(zlib.decompress(self.samples), dtype="<i8").astype(np.int64)

    def percentile(self, q: float) -> float:
        """The q-th percentile of this process's latencies, seconds."""
        return float(np.percentile(self.latencies_ns, q)) / 1e9

    @property
    def cpu_per_call(self) -> float:
        """CPU seconds for each request: what spinning threads burn shows here."""
        return self.cpu_s / self.calls

    @property
    def disturbance(self) -> float | None:
        """Share of the usable CPUs that others and the hypervisor took; None: unknown."""
        return None if self.foreign is None else self.foreign + (self.steal or 0.0)


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """All processes of one target, with whatever can explain the numbers.

    Percentiles are medians across processes of each process's percentile, so that one disturbed process does
    not move them.

    Attributes:
        target, workload: what was measured, and how.
        machine: what `hotlap.machine.Machine.brief` says of it.
        date: when it ended, ISO 8601, UTC.
        processes: in the order in which they ran.
        generated: the inputs were made to fit the signature, not given.
        doubts: one sentence each.
    """

    format: int = FORMAT
    target: Target
    workload: Workload
    machine: dict[str, Any]
    date: str
    processes: tuple[ProcessResult, ...]
    generated: bool = False
    doubts: tuple[str, ...] = ()

    def percentile(self, q: float) -> float:
        """Median across processes of each one's q-th percentile, seconds."""
        return float(np.median([p.percentile(q) for p in self.processes]))

    def log_percentiles(self, q: float) -> npt.NDArray[np.float64]:
        """float64[processes]: the logarithm of each process's q-th percentile in seconds."""
        return np.log([max(p.percentile(q), 1e-9) for p in self.processes])

    @property
    def p50(self) -> float:
        return float(np.median([p.p50 for p in self.processes]))

    @property
    def p90(self) -> float:
        return self.percentile(90)

    @property
    def p95(self) -> float:
        return float(np.median([p.p95 for p in self.processes]))

    @property
    def p99(self) -> float:
        return self.percentile(99)

    @property
    def calls(self) -> int:
        """Measured calls, all processes together."""
        return sum(p.calls for p in self.processes)

    @property
    def cpu_per_call(self) -> float:
        """CPU seconds for each request, median across processes."""
        return float(np.median([p.cpu_per_call for p in self.processes]))

    def save(self, path: str | Path) -> None:
        """Write it as JSON, whole or not at all.

        Raises:
            StorageError: it could not be written.
        """
        write_whole(Path(path), msgspec.json.encode(self))

    @classmethod
    def load(cls, path: str | Path) -> Measurement:
        """Read what `save` wrote.

        Raises:
            UsageError: missing, not a measurement, or written by a newer hotlap.
        """
        return read_struct(path, cls, "measurement")


S = TypeVar("S", bound=msgspec.Struct)


class _Head(msgspec.Struct):
    format: int


def read_struct(path: str | Path, kind: type[S], what: str, newest: int = FORMAT) -> S:
    """A saved value, its format number checked first.

    Raises:
        UsageError: missing, not of this kind, or written by a newer hotlap.
    """
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    try:
        head = msgspec.json.decode(text, type=_Head)
        if head.format > newest:
            raise UsageError(
                f"{path}: a newer hotlap wrote this {what} (format {head.format}, known: {newest})"
            )
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as error:
        raise UsageError(f"{path}: not a saved {what}: {error}") from error
