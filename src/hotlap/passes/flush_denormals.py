"""Set weights to zero that are so small that CPUs compute with them a hundred times slower."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hotlap.model.graph import onnx, tensors
from hotlap.passes.draft import EXTERNAL, Draft
from hotlap.passes.numbers import read_tensor
from hotlap.passes.step import Aim, Passed, counted, unchanged

__all__ = ["FlushDenormals"]

_FLOATS = {1: np.float32, 11: np.float64}
"""In half precision denormals are ordinary numbers: hardware computes them at full speed."""


@dataclass(frozen=True)
class FlushDenormals:
    """Sets denormal weights to zero: smaller than 1.2e-38 in float32, 2.2e-308 in float64.

    Many CPUs compute with them up to a hundred times slower. Next to any ordinary number they round away; of
    an answer that comes from them alone nothing is left, which the proof then shows.
    """

    name: ClassVar[str] = "flush-denormals"
    aim: ClassVar[Aim] = "speed"

    def requires(self, draft: Draft) -> str:
        return ""

    def __call__(self, draft: Draft) -> Passed:
        """Raises ModelError: a weight cannot be read."""
        found = [n for n, t in enumerate(tensors(draft.proto)) if _denormals(draft, t)]
        if not found:
            return unchanged(draft, "no weight is denormal")
        proto, flushed, notes = draft.copy(), set(found), []
        for number, tensor in enumerate(tensors(proto)):
            if number in flushed:
                notes.append(_flush(draft, tensor))
        shown = [*notes[:5], *([f"and {counted(len(notes) - 5, 'weight')} more"] if len(notes) > 5 else [])]
        return Passed(draft.edited(proto), tuple(shown))

    def ensures(self, before: Draft, after: Draft) -> str:
        left = next((t.name for t in tensors(after.proto) if _denormals(after, t)), None)
        return "" if left is None else f'weight "{left}" is still denormal'


def _denormals(draft: Draft, tensor: Any) -> int:
    """How many elements are denormal."""
    kind = _FLOATS.get(tensor.data_type)
    if kind is None:
        return 0
    return sum(int(_small(piece).sum()) for piece in read_tensor(draft, tensor))


def _small(values: Any) -> Any:
    return (values != 0) & (np.abs(values) < np.finfo(values.dtype).smallest_normal)


def _flush(draft: Draft, tensor: Any) -> str:
    values = np.concatenate([piece.copy() for piece in read_tensor(draft, tensor)])
    small = _small(values)
    values[small] = 0
    external = tensor.data_location == EXTERNAL
    flushed = onnx().numpy_helper.from_array(values.reshape(tuple(tensor.dims)), tensor.name)
    tensor.CopyFrom(flushed)
    where = ", now inside the file" if external else ""
    return f'weight "{tensor.name}": {int(small.sum()):,} of {counted(small.size, "element")} became 0{where}'
