"""Measured processes out of thin air, for tests of what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hotlap.bench import Measurement, ProcessResult, Target, Workload
from hotlap.bench.result import pack

TARGET = Target(label="default", kind="default", model="/models/m.onnx")


def process(p50_s: float = 0.01, calls: int = 50, **fields: Any) -> ProcessResult:
    """One process whose calls all take `p50_s`, undisturbed."""
    latencies = np.full(calls, round(p50_s * 1e9), dtype=np.int64)
    given = {"foreign": 0.0, "steal": 0.0, "cpu_s": p50_s * calls, "wall_s": p50_s * calls}
    defaults = {"label": "default", "load_s": 0.1, "first_call_s": p50_s, "p50": p50_s, "p95": p50_s}
    samples = {"samples": pack(latencies), "calls": calls}
    return ProcessResult(**{**defaults, **given, **samples, **fields})


def measurement(p50s: Sequence[float], **fields: Any) -> Measurement:
    """One process for each of the given medians, in this order."""
    processes = tuple(process(p, order=n) for n, p in enumerate(p50s))
    defaults = {
        "target": TARGET,
        "workload": Workload(),
        "machine": {"cpu": "one"},
        "date": "2026-11-30T00:00:00+00:00",
        "processes": processes,
    }
    return Measurement(**{**defaults, **fields})
