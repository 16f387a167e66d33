"""A history: one JSON line a run, appended, so that numbers can be followed over weeks and plotted."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import msgspec

from hotlap.bench.comparison import Comparison
from hotlap.bench.measurement import Measurement
from hotlap.bench.workload import Workload
from hotlap.errors import UsageError
from hotlap.plan.files import storage_error

__all__ = ["HistoryEntry", "append_history", "read_history", "summarise"]

log = logging.getLogger("hotlap.bench")

# History of the lines' format. A newer hotlap reads every older one.
# 1: the first.
FORMAT = 1
_QUANTILES = (50.0, 90.0, 95.0, 99.0, 99.9)


class HistoryEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One run: a measurement, or a comparison and then the candidate's numbers.

    Attributes:
        date: when it ended, ISO 8601, UTC.
        hotlap: the version that measured.
        target: label; `digest`: of its model file.
        percentiles: "p50", "p90", … to (value, low, high) in seconds; those that the samples do not support
            are left out.
        rate: requests a second.
        cpu_per_call: CPU seconds for each request.
        rss_peak: bytes; None: unknown.
        calls, processes: how many.
        against, ratio, low, high, verdict, same_within, enough: of a comparison; None elsewhere.
        void, doubts: as of the run.
        cpu, cpus: the processor, and how many of them there were to use.
        versions: of Python, onnxruntime and others.
        workload: what it was put under; a recorded trace is left out.
    """

    format: int = FORMAT
    date: str
    hotlap: str = ""
    target: str
    digest: str | None = None
    percentiles: dict[str, tuple[float, float, float]] = {}
    rate: float
    cpu_per_call: float
    rss_peak: int | None = None
    calls: int
    processes: int
    against: str | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: str | None = None
    same_within: float | None = None
    enough: bool | None = None
    void: bool = False
    doubts: tuple[str, ...] = ()
    cpu: str | None = None
    cpus: str | None = None
    versions: dict[str, str] = {}
    workload: dict[str, Any] = {}


def append_history(path: str | Path, result: Measurement | Comparison) -> HistoryEntry:
    """Add a run to the file, which is made where there is none. Returns what was added.

    Raises:
        StorageError: it could not be written.
    """
    entry = summarise(result)
    line = msgspec.json.encode(entry) + b"\n"
    try:
        with Path(path).open("ab+") as file:
            file.seek(0, os.SEEK_END)
            if file.tell():
                file.seek(-1, os.SEEK_END)
                # A line that was torn by a full disk stays alone, and this one is whole.
                line = line if file.read(1) == b"\n" else b"\n" + line
            file.write(line)  # one write, in append mode: two runs at once do not mix their lines
    except OSError as error:
        raise storage_error(path, error) from error
    return entry


def read_history(path: str | Path) -> list[HistoryEntry]:
    """The runs in the order in which they were added. A line that is no run is left out, and logged.

    Raises:
        UsageError: no such file, or a line was written by a newer hotlap.
    """
    try:
        lines = Path(path).read_bytes().splitlines()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = msgspec.json.decode(line, type=HistoryEntry)
        except msgspec.DecodeError as error:
            log.warning("%s, line %d: left out, it is no run: %s", path, number, error)
            continue
        if entry.format > FORMAT:
            raise UsageError(f"{path}, line {number}: a newer hotlap wrote it (format {entry.format})")
        found.append(entry)
    return found


def summarise(result: Measurement | Comparison) -> HistoryEntry:
    """A run in one line, as the history keeps it."""
    side = result.b if isinstance(result, Comparison) else result
    peaks = sorted(p.rss_peak for p in side.processes if p.rss_peak is not None)
    known = {q: found for q in _QUANTILES if (found := side.quantile(q))}
    compared: dict[str, Any] = {}
    if isinstance(result, Comparison):
        names = ("ratio", "low", "high", "verdict", "same_within", "enough")
        compared = {name: getattr(result, name) for name in names}
        compared["against"] = result.a.target.label
    return HistoryEntry(
        date=side.date,
        hotlap=side.machine.get("versions", {}).get("hotlap", ""),
        target=side.target.label,
        digest=side.digest,
        percentiles={f"p{q:g}": (f.value, f.low, f.high) for q, f in known.items()},
        rate=side.rate,
        cpu_per_call=side.cpu_per_call,
        rss_peak=peaks[len(peaks) // 2] if peaks else None,
        calls=side.calls,
        processes=len(side.processes),
        void=result.void,
        doubts=result.doubts,
        cpu=_inside(side.machine, "cpu", "model"),
        cpus=_inside(side.machine, "cpus", "reason"),
        versions=side.machine.get("versions", {}),
        workload=_workload(side.workload),
        **compared,
    )


def _inside(machine: dict[str, Any], key: str, field: str) -> str | None:
    value = machine.get(key)
    return value.get(field) if isinstance(value, dict) else value


def _workload(workload: Workload) -> dict[str, Any]:
    """What differs from the defaults; a trace may be long, and is kept in the saved measurement."""
    table: dict[str, Any] = msgspec.to_builtins(workload)
    usual = msgspec.to_builtins(Workload())
    return {k: v for k, v in table.items() if v != usual[k] and k != "trace"}
