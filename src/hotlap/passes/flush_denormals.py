"""Set weights to zero that are so small that CPUs compute with them a hundred times slower."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hotlap.model.graph import onnx, tensors
from hotlap.model.sizes import elements
from hotlap.passes.draft import EXTERNAL, Draft, free_name
from hotlap.passes.external_weights import ALIGNED, point
from hotlap.passes.numbers import read_tensor
from hotlap.passes.step import Aim, Passed, counted, unchanged
from hotlap.passes.tools import Scratch
from hotlap.plan.files import storage_error

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
        """Raises ModelError (a weight cannot be read), StorageError (no room for the temporary file)."""
        found = {n: many for n, t in enumerate(tensors(draft.proto)) if (many := _denormals(draft, t))}
        if not found:
            return unchanged(draft, "no weight is denormal")
        proto = draft.copy()
        chosen = [(t, found[n]) for n, t in enumerate(tensors(proto)) if n in found]
        notes = [_told(tensor, many) for tensor, many in chosen]
        shown = [*notes[:5], *([f"and {counted(len(notes) - 5, 'weight')} more"] if len(notes) > 5 else [])]
        outside = [tensor for tensor, _ in chosen if tensor.data_location == EXTERNAL]
        for tensor, _ in chosen:
            if tensor.data_location != EXTERNAL:
                _flush(draft, tensor)
        made = _refiled(draft, proto, outside) if outside else draft.edited(proto)
        return Passed(made, tuple(shown))

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


def _told(tensor: Any, many: int) -> str:
    return f'weight "{tensor.name}": {many:,} of {counted(elements(tensor), "element")} became 0'


def _flush(draft: Draft, tensor: Any) -> None:
    """One that lies in the model's file."""
    (values,) = _flushed(draft, tensor)
    tensor.CopyFrom(onnx().numpy_helper.from_array(values.reshape(tuple(tensor.dims)), tensor.name))


def _flushed(draft: Draft, tensor: Any) -> Iterator[Any]:
    for piece in read_tensor(draft, tensor):
        values = piece.copy()
        values[_small(values)] = 0
        yield values


def _refiled(draft: Draft, proto: Any, outside: list[Any]) -> Draft:
    """Those that lie in files are written to a new one, a piece at a time: they may be larger than memory."""
    scratch = Scratch()
    name = free_name("flushed.data", draft.files)
    file = scratch.path / name
    try:
        with file.open("wb") as writer:
            for tensor in outside:
                writer.seek(-writer.tell() % ALIGNED, 1)
                offset = writer.tell()
                for piece in _flushed(draft, tensor):
                    writer.write(piece.tobytes())
                point(tensor, name, offset, writer.tell() - offset)
    except OSError as error:
        raise storage_error(file, error) from error
    return draft.refiled(proto, {**draft.files, name: file}, scratch)
