"""What one fresh process measured: `ProcessResult`."""

from __future__ import annotations

import zlib

import msgspec
import numpy as np
import numpy.typing as npt

from hotlap.bench.slowest import InputTime

__all__ = ["MOST_SHAPES", "ProcessResult", "pack"]

MOST_SHAPES = 64


def pack(latencies_ns: npt.NDArray[np.int64]) -> bytes:
    """int64[n] nanoseconds as little-endian bytes, deflated (zlib). JSON shows bytes as base64."""
    return zlib.compress(latencies_ns.astype("<i8").tobytes(), level=6)


def _unpack(packed: bytes) -> npt.NDArray[np.int64]:
    return np.frombuffer(zlib.decompress(packed), dtype="<i8").astype(np.int64)


class ProcessResult(msgspec.Struct, frozen=True, kw_only=True):
    """One fresh process.

    Attributes:
        label: the target's.
        order: its place in the run, from 0, both sides counted together.
        samples: every latency, as `pack` writes it; `latencies_ns` reads it.
        calls: how many.
        feeds: how many different inputs there were to be called with.
        p50, p95: seconds.
        services: of an open loop: each call alone, packed alike; `samples` count from the intended start.
        start_s: from the start of the process until Python ran its first line, seconds; None: unknown.
        import_s: importing numpy, hotlap and onnxruntime, seconds; None: unknown.
        load_s: opening the target, seconds; a plan is not warmed.
        first_call_s: the first call of all, which is not among the samples; seconds.
        first_by_shape: the same for each new shape (at most `MOST_SHAPES`), that of the first call included.
        steady_after: calls until it was as fast as it stayed; None: unknown, see `cold.calls_until_steady`.
        wall_s: how long the loop ran, seconds.
        overhead_s: what the measuring loop itself costs a call, seconds; None: unknown. Never subtracted.
        late_s: of an open loop: median of how much too late callers that were free began; None: there is
            none.
        cpu_s: CPU seconds that this process used meanwhile, all its threads together.
        foreign: share (0 to 1) of the CPUs it may use that other processes took meanwhile; None: unknown.
        steal: the same for what the hypervisor took; None: unknown.
        switches: how often it was made to wait for a CPU (involuntary context switches); None: unknown.
        throttled: scheduler periods in which its control group was throttled; None: unknown.
        rss_peak: the most resident memory, bytes; None: unknown.
        rss_settled: resident memory after the loop, bytes; None: unknown.
        mhz: the frequency of the CPUs right after the loop; None: unknown.
        slowest: its ten slowest inputs.
        threads: how many the target works with, the calling one included.
        retried: how often this place in the order was measured again because others disturbed it.
    """

    label: str
    order: int = 0
    samples: bytes
    services: bytes | None = None
    calls: int
    feeds: int = 1
    p50: float
    p95: float
    start_s: float | None = None
    import_s: float | None = None
    load_s: float = 0.0
    first_call_s: float = 0.0
    first_by_shape: dict[str, float] = {}
    steady_after: int | None = None
    wall_s: float
    overhead_s: float | None = None
    late_s: float | None = None
    cpu_s: float
    foreign: float | None = None
    steal: float | None = None
    switches: int | None = None
    throttled: int | None = None
    rss_peak: int | None = None
    rss_settled: int | None = None
    mhz: float | None = None
    threads: int = 1
    retried: int = 0
    slowest: tuple[InputTime, ...] = ()

    @property
    def latencies_ns(self) -> npt.NDArray[np.int64]:
        """int64[calls], nanoseconds, in the order of the calls."""
        return _unpack(self.samples)

    @property
    def services_ns(self) -> npt.NDArray[np.int64]:
        """int64[calls], nanoseconds: each call alone. In a closed loop that is the latency."""
        return self.latencies_ns if self.services is None else _unpack(self.services)

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
