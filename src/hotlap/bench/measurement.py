"""What was measured: `Measurement`, all processes of one target."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from hotlap.bench.quantiles import Quantile, needed, quantile
from hotlap.bench.result import ProcessResult
from hotlap.bench.slowest import SlowInput
from hotlap.bench.target import Target
from hotlap.bench.workload import Workload
from hotlap.errors import UsageError, VerificationFailed
from hotlap.plan.files import write_whole

__all__ = ["FORMAT", "Measurement", "kind_of", "read_struct"]

# History of the saved format. A newer hotlap reads every older one.
# 1: the first.
# 2: open loops, many callers, mixes of shapes and callables; cold start in parts; the slowest inputs; settled
#    memory; the digest of the model; whether a measurement is void; whether a comparison's data are enough,
#    how many it was made among, and within what the sides are the same. Nothing of 1 changed its meaning.
FORMAT = 2


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
        void: so many processes were disturbed that the numbers say nothing; the first doubt tells.
        digest: of the model's file, ``"sha256:…"``; None: unknown, or the target is a callable.
        slowest: the ten slowest inputs, where there were several.
    """

    format: int = FORMAT
    target: Target
    workload: Workload
    machine: dict[str, Any]
    date: str
    processes: tuple[ProcessResult, ...]
    generated: bool = False
    doubts: tuple[str, ...] = ()
    void: bool = False
    digest: str | None = None
    slowest: tuple[SlowInput, ...] = ()

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

    def quantile(self, q: float) -> Quantile | None:
        """The q-th percentile with its interval, seconds; None where the samples do not support it.

        See `hotlap.bench.quantiles` for the rule.
        """
        return quantile([p.latencies_ns / 1e9 for p in self.processes], q, self.workload.seed)

    @property
    def min(self) -> float:
        """The shortest latency of all, seconds."""
        return min(float(p.latencies_ns.min()) for p in self.processes) / 1e9

    @property
    def max(self) -> float:
        """The longest latency of all, seconds."""
        return max(float(p.latencies_ns.max()) for p in self.processes) / 1e9

    @property
    def mean(self) -> float:
        """Median across processes of each one's mean latency, seconds."""
        return float(np.median([p.latencies_ns.mean() for p in self.processes])) / 1e9

    @property
    def rate(self) -> float:
        """Requests a second, median across processes."""
        return float(np.median([p.calls / p.wall_s for p in self.processes]))

    @property
    def calls(self) -> int:
        """Measured calls, all processes together."""
        return sum(p.calls for p in self.processes)

    @property
    def cpu_per_call(self) -> float:
        """CPU seconds for each request, median across processes."""
        return float(np.median([p.cpu_per_call for p in self.processes]))

    def check(self, **limits: float) -> Measurement:
        """Make sure that percentiles keep to limits; for use in tests: ``m.check(p50=0.005, p99=0.020)``.

        Args:
            limits: p50, p95, p99.9 as ``p99_9``, …: seconds. A limit is broken when the percentile's whole
                95 % interval lies above it.

        Returns:
            itself.

        Raises:
            VerificationFailed: a limit is broken, or a percentile is not supported by the samples.
            UsageError: a name that is no percentile.
        """
        if self.void:  # nothing can be said, so nothing is broken
            return self
        broken = [told for name, limit in limits.items() if (told := self._broken(name, limit))]
        if broken:
            raise VerificationFailed(f"{self.target.label}: {'; '.join(broken)}")
        return self

    def _broken(self, name: str, limit: float) -> str:
        try:
            q = float(name.removeprefix("p").replace("_", "."))
            assert name.startswith("p") and 0 < q < 100
        except (ValueError, AssertionError) as error:
            raise UsageError(f'"{name}" is no percentile: write p50, p95, p99_9') from error
        found = self.quantile(q)
        if found is None:
            return f"p{q:g} needs {needed(q):,} samples, there are {self.calls:,}"
        if found.low <= limit:
            return ""
        span = f"{found.low * 1e3:.3g} to {found.high * 1e3:.3g} ms"
        return f"p{q:g} is {found.value * 1e3:.3g} ms ({span}), over {limit * 1e3:.3g} ms"

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


def kind_of(path: str | Path) -> str:
    """What a saved file holds: "measurement", "comparison", or "something else"."""
    try:
        table = msgspec.json.decode(Path(path).read_bytes(), type=dict[str, msgspec.Raw])
    except (OSError, msgspec.DecodeError):
        return "something else"
    return "measurement" if "processes" in table else "comparison" if "ratio" in table else "something else"
