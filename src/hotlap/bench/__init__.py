"""Measuring and comparing: fresh processes, balanced order, intervals from the spread between processes.

Each name is loaded when it is first used: the measuring process passes through here and should stay light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hotlap.bench.arrivals import load_trace
    from hotlap.bench.comparison import Comparison, compare_measurements
    from hotlap.bench.data import load_feeds, save_feeds
    from hotlap.bench.history import HistoryEntry, append_history, read_history
    from hotlap.bench.measurement import Measurement
    from hotlap.bench.process import make_feeds, run_once, temporary_folder
    from hotlap.bench.quantiles import Quantile
    from hotlap.bench.result import ProcessResult
    from hotlap.bench.rounds import compare, compare_each, feeds_on_disk, measure, measurement_of
    from hotlap.bench.shapes import ShapeMix, load_mix, parse_mix
    from hotlap.bench.stats import bootstrap_ratio
    from hotlap.bench.target import Target
    from hotlap.bench.workload import Workload
    from hotlap.runtime.recording import Recorder, record

_HOME = {
    "Comparison": "bench.comparison",
    "HistoryEntry": "bench.history",
    "Measurement": "bench.measurement",
    "ProcessResult": "bench.result",
    "Quantile": "bench.quantiles",
    "ShapeMix": "bench.shapes",
    "Target": "bench.target",
    "Workload": "bench.workload",
    "append_history": "bench.history",
    "bootstrap_ratio": "bench.stats",
    "compare": "bench.rounds",
    "compare_each": "bench.rounds",
    "compare_measurements": "bench.comparison",
    "feeds_on_disk": "bench.rounds",
    "load_feeds": "bench.data",
    "load_mix": "bench.shapes",
    "load_trace": "bench.arrivals",
    "make_feeds": "bench.process",
    "measure": "bench.rounds",
    "measurement_of": "bench.rounds",
    "parse_mix": "bench.shapes",
    "read_history": "bench.history",
    "run_once": "bench.process",
    "save_feeds": "bench.data",
    "temporary_folder": "bench.process",
    "Recorder": "runtime.recording",
    "record": "runtime.recording",
}

__all__ = [
    "Comparison",
    "HistoryEntry",
    "Measurement",
    "ProcessResult",
    "Quantile",
    "Recorder",
    "ShapeMix",
    "Target",
    "Workload",
    "append_history",
    "bootstrap_ratio",
    "compare",
    "compare_each",
    "compare_measurements",
    "feeds_on_disk",
    "load_feeds",
    "load_mix",
    "load_trace",
    "make_feeds",
    "measure",
    "measurement_of",
    "parse_mix",
    "read_history",
    "record",
    "run_once",
    "save_feeds",
    "temporary_folder",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'hotlap.bench' has no attribute {name!r}")
    value = getattr(import_module(f"hotlap.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
