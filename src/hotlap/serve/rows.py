"""Which jobs may share a call of the model: `Rows`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from hotlap.plan import Facts
from hotlap.serve.job import Job
from hotlap.tensors import TensorSpec

__all__ = ["Rows"]

_LARGEST_SHARED = 4096
"""Bytes of an input without rows that are compared; requests with a larger one go alone."""


class Rows:
    """Where the rows of a model lie, and which jobs may be put together.

    Attributes:
        axes: input or output to its axis of rows.
        why_not: why no two jobs may ever share a call; "": they may.
    """

    def __init__(self, facts: Facts, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> None:
        self.axes = facts.axes
        self._names = [s.name for s in inputs]
        self.why_not = _why_not(facts, inputs, outputs)

    def describe(self, job: Job) -> tuple[int, Hashable]:
        """The job's rows, and a key that is equal for jobs that may share a call; (0, None): with none."""
        if self.why_not:
            return 0, None
        rows, parts = 0, []
        for name in self._names:
            array = job.request.feed.get(name)
            shape = job.request.shapes[name] if array is None else array.shape
            axis = self.axes.get(name)
            if axis is None:
                shared = _value(array)
                if shared is None:
                    return 0, None
                parts.append((shape, shared))
                continue
            if axis >= len(shape) or shape[axis] == 0 or (rows and shape[axis] != rows):
                return 0, None
            rows = shape[axis]
            parts.append((shape[:axis], shape[axis + 1 :]))
        return rows, tuple(parts)


def _why_not(facts: Facts, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> str:
    if facts.rows != "independent":
        why = facts.why or "the model was not probed"
        return f"its rows are not known to be independent ({facts.rows}: {why})"
    for output in outputs:
        if output.name not in facts.axes:
            return f'output "{output.name}" has no axis of rows'
    return "" if any(s.name in facts.axes for s in inputs) else "no input has an axis of rows"


def _value(array: Any) -> Hashable:
    """What an input holds that all rows of a call share; None: it cannot be compared cheaply."""
    if array is None or array.nbytes > _LARGEST_SHARED:
        return None
    return tuple(array.ravel().tolist()) if array.dtype == object else array.tobytes()
