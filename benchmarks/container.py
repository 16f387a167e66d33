"""What does tuning gain where a process may use fewer CPUs than the machine has, as in most containers?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks import laps
from examples.inputs.models import named

CLAIM = (
    "Where a process may use one CPU of several, the default's threads fight for it; the plan's do not, "
    "and no model is slower for it."
)
METHOD = (
    "As `laps`, on three of its models, but everything runs pinned to one CPU (the affinity that a container "
    "with a cpuset has). ONNX Runtime's default starts as many threads as the machine has cores all the same."
)
MODELS = ("ocr-rec", "minilm", "magika")

table = laps.table


def main(quick: bool) -> dict[str, Any]:
    with _one_cpu():
        models = [named(name) for name in (MODELS[2:] if quick else MODELS)]
        seconds = 12.0 if quick else laps.SECONDS
        return {"models": [laps.row_of(model, laps.tuned(model, seconds)) for model in models]}


@contextmanager
def _one_cpu() -> Iterator[None]:
    """This process and those that it starts, on one CPU alone."""
    if not hasattr(os, "sched_setaffinity"):
        raise SystemExit("container: this system cannot pin a process to a CPU")
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
