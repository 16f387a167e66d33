"""ORT's RunOptions: one that ordinary calls share, and one of its own for each call with a wish."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from hotlap.plan import Plan
from hotlap.runtime import ort

__all__ = ["run_options"]

_GRAPH_ID = "gpu_graph_id"


def run_options(plan: Plan, folder: Path, log_id: str | None = None, severity: int | None = None) -> Any:
    """RunOptions as the plan says.

    Args:
        folder: what relative file names in the plan are relative to.
        log_id: prefix of the run's log lines; None: the plan's.
        severity: least severity that the run logs, 0 (all) to 4; None: the plan's.
    """
    entries = plan.run_entries(folder)
    options = _kind(entries.get(_GRAPH_ID, ""))()
    for name, value in plan.run_attributes().items():
        setattr(options, name, value)
    for key, text in entries.items():
        options.add_run_config_entry(key, text)
    if log_id is not None:
        options.logid = log_id
    if severity is not None:
        options.log_severity_level = severity
    return options


class _Entries(dict[str, str]):
    def __missing__(self, key: str) -> str:
        raise RuntimeError(f"no run config entry {key}")  # as ORT's own lookup does


@cache
def _kind(graph_id: str) -> Any:
    """RunOptions that answer at once whether they name a GPU graph.

    `run_with_iobinding` asks for that on each call, and where nothing was set the answer is a C++ exception
    (36 µs in 1.32, against 2 for the whole call). "" means "not set".
    """
    answers = {"get_run_config_entry": _Entries({_GRAPH_ID: graph_id}).__getitem__}
    return type("RunOptions", (ort.load().RunOptions,), answers)
