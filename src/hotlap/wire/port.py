"""One input or output of a model as the protocol sees it, with all that is made once for it: `Port`."""

from __future__ import annotations

import importlib
import math
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from hotlap.errors import Unavailable
from hotlap.tensors import DType, TensorSpec, shape_problems
from hotlap.wire.numbers import Numbers
from hotlap.wire.problems import Wrong
from hotlap.wire.text import Texts, pack, unpack

__all__ = ["Port", "element_spec", "numpy_of"]

Array = npt.NDArray[Any]
Shape = tuple[int, ...]

_MOST_AXES = 32
"""As numpy before 2.0."""
_MOST_SHAPES = 1024
"""Shapes that are remembered for each input and output: a client can send ever new ones."""
_SMALL = 64 * 1024
"""Bytes. Up to here a tensor's bytes are copied behind the header: one buffer to write instead of several."""


class Port:
    """One input or output.

    Attributes:
        spec: what the model says; of an optional tensor, of the tensor.
        name: as the model spells it.
        datatype: the protocol's word, e.g. "FP32".
        numpy: the numpy dtype; object for text.
        itemsize: bytes of one element; 0 for text.
        text: it is BYTES.
        any_bytes: whatever the bytes are, they are values of this type; where not (BYTES, BOOL), they must go
            through `view` before a model sees them.
        optional: a request may leave it out.
        counts: shape that was found to fit to its number of elements; not all of them, see `count`.
        json: reads and writes its elements in JSON.
    """

    __slots__ = (
        "_flags",
        "_head",
        "_heads",
        "any_bytes",
        "counts",
        "datatype",
        "itemsize",
        "json",
        "name",
        "numpy",
        "optional",
        "spec",
        "text",
    )  # fmt: skip

    def __init__(self, spec: TensorSpec, optional: bool = False) -> None:
        """
        Args:
            spec: of a tensor whose element type the protocol has.

        Raises:
            Unavailable: numpy has no such type, and ml_dtypes is not installed.
        """
        dtype = spec.dtype
        assert dtype is not None and dtype.protocol is not None
        self.spec, self.name, self.optional = spec, spec.name, optional
        self.datatype = dtype.protocol
        self.numpy = numpy_of(spec, dtype)
        self.text = dtype.name == "string"
        self.itemsize = dtype.bits // 8
        self.json = Texts() if self.text else Numbers(dtype, self.numpy)
        self._flags = dtype.name == "bool"
        self.any_bytes = not (self.text or self._flags)
        self.counts: dict[Shape, int] = {}
        self._heads: dict[Shape, bytes] = {}
        name = msgspec.json.encode(self.name)
        self._head = b'{"name":%b,"datatype":"%b","shape":' % (name, self.datatype.encode())

    # ── in ────────────────────────────────────────────────────────────────────────────────────────────

    def count(self, shape: Shape) -> int:
        """How many elements that shape has.

        Raises:
            Wrong: it does not fit the model, or no tensor can have it.
        """
        known = self.counts.get(shape)
        return self._counted(shape) if known is None else known

    def _counted(self, shape: Shape) -> int:
        if len(shape) > _MOST_AXES:
            raise Wrong(f"shape has {len(shape):,} axes, expected {self.spec.label}")
        if shape and min(shape) < 0:
            raise Wrong(f"shape {list(shape)} has a negative size, expected {self.spec.label}")
        problems = shape_problems(self.spec, shape, {})
        if problems:
            raise Wrong("; ".join(problems))
        # numpy counts so too: an axis of size 0 does not save the others.
        if math.prod(d for d in shape if d) * (self.itemsize or 8) >= 2**63:
            raise Wrong(f"shape {list(shape)} is larger than any memory")
        count = math.prod(shape)
        if len(self.counts) < _MOST_SHAPES:
            self.counts[shape] = count
        return count

    def view(self, shape: Shape, count: int, data: Any, start: int, size: int) -> Array:
        """The tensor that lies in the bytes: of numbers a view on them, aligned or not.

        Args:
            count: elements of the shape, from `count`.
            data: bytes, or a memoryview of bytes.
            start, size: where in them; they must lie within.

        Raises:
            Wrong: the size is not that of the shape, or the bytes are no such values.
        """
        if self.text:
            return unpack(memoryview(data)[start : start + size], shape, count)
        if size != count * self.itemsize:
            needs = count * self.itemsize
            raise Wrong(f"got {size:,} bytes, {self.datatype} of shape {list(shape)} takes {needs:,}")
        array: Array = np.ndarray(shape, self.numpy, data, start)
        # Any other byte would be a bool that is neither true nor false, to numpy and to ORT.
        if self._flags and count and int(array.view(np.uint8).max()) > 1:
            raise Wrong("got bytes other than 0 and 1 for BOOL")
        return array

    # ── out ───────────────────────────────────────────────────────────────────────────────────────────

    def head(self, shape: Shape) -> bytes:
        """The beginning of an answer's JSON object: name, type and shape, still open."""
        known = self._heads.get(shape)
        if known is None:
            known = self._head + msgspec.json.encode(shape)
            if len(self._heads) < _MOST_SHAPES:
                self._heads[shape] = known
        return known

    def pack(self, array: Array) -> bytes | memoryview:
        """The tensor's bytes; a view on them where they are many."""
        if self.text:
            return pack(array)
        if array.nbytes <= _SMALL:
            return array.tobytes()
        return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def element_spec(spec: TensorSpec) -> tuple[TensorSpec, bool]:
    """Of an optional tensor the tensor, and whether it is one."""
    if not spec.type.startswith("optional("):
        return spec, False
    inner = spec.type.removeprefix("optional(").removesuffix(")")
    return TensorSpec(spec.name, inner, spec.shape, ranked=bool(spec.shape)), True


def numpy_of(spec: TensorSpec, dtype: DType) -> np.dtype[Any]:
    """The numpy type of a tensor's elements; ml_dtypes' where numpy alone has none.

    Raises:
        Unavailable: ml_dtypes is not installed.
    """
    if dtype.numpy is not None:
        return dtype.numpy
    try:
        found: np.dtype[Any] = np.dtype(getattr(importlib.import_module("ml_dtypes"), dtype.name))
    except ImportError as error:
        raise Unavailable(
            f'"{spec.name}" is {spec.label}, which numpy alone does not have: pip install ml-dtypes'
        ) from error
    return found
