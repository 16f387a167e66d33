"""Measuring and comparing: fresh processes, balanced order, intervals from the spread between processes.

Each name is loaded when it is first used: the measuring process passes through here and should stay light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hotlap.bench.comparison import Comparison, compare_measurements
    from hotlap.bench.data import load_feeds, save_feeds
    from hotlap.bench.measurement import Measurement, ProcessResult
    from hotlap.bench.process import make_feeds, run_once, temporary_folder
    from hotlap.bench.rounds import compare, feeds_on_disk, measure, measurement_of
    from hotlap.bench.stats import bootstrap_ratio
    from hotlap.bench.workload import Target, Workload

_HOME = {
    "Comparison": "comparison",
    "Measurement": "measurement",
    "ProcessResult": "measurement",
    "Target": "workload",
    "Workload": "workload",
    "bootstrap_ratio": "stats",
    "compare": "rounds",
    "compare_measurements": "comparison",
    "load_feeds": "data",
    "feeds_on_disk": "rounds",
    "make_feeds": "process",
    "measure": "rounds",
    "measurement_of": "rounds",
    "run_once": "process",
    "save_feeds": "data",
    "temporary_folder": "process",
}

__all__ = [
    "Comparison",
    "Measurement",
    "ProcessResult",
    "Target",
    "Workload",
    "bootstrap_ratio",
    "compare",
    "compare_measurements",
    "feeds_on_disk",
    "load_feeds",
    "make_feeds",
    "measure",
    "measurement_of",
    "run_once",
    "save_feeds",
    "temporary_folder",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'hotlap.bench' has no attribute {name!r}")
    value = getattr(import_module(f"hotlap.bench.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
