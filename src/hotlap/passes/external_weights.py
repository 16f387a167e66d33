"""Lay weights into a file beside the model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar

import numpy as np

from hotlap.errors import ModelError, UsageError
from hotlap.model.graph import onnx, tensors
from hotlap.model.reference import reference
from hotlap.passes.draft import EXTERNAL, Draft, copy_span
from hotlap.passes.step import Aim, Passed, unchanged
from hotlap.passes.tools import Scratch
from hotlap.plan.files import storage_error

__all__ = ["ALIGNED", "LARGEST_INSIDE", "ExternalWeights", "gathered", "movable", "point"]

LARGEST_INSIDE = 3 << 29
"""Bytes, 1.5 GiB: a file with more inside comes too near to protobuf's limit of 2 GiB."""
ALIGNED = 4096
"""Each weight begins at a multiple, so that a runtime can map it into memory."""
_READ = 1024, 16
"""Bytes of whole numbers, elements of others: smaller ones stay. They are sizes, axes and scales, which the
runtime's shape inference reads, without opening other files for them."""
_NAME = "weights.data"


@dataclass(frozen=True)
class ExternalWeights:
    """Puts weights into one file beside the model. Models above 1.5 GiB are written so in any case.

    Args:
        smallest: bytes; smaller weights stay in the model's file. Whole numbers below 1 kB, and anything of
            16 elements or fewer, stay in any case: the runtime's shape inference reads them there.
    """

    smallest: int = 1024
    name: ClassVar[str] = "external-weights"
    aim: ClassVar[Aim] = "mend"

    def __post_init__(self) -> None:
        if self.smallest < 0:
            raise UsageError("external-weights: a size is 0 bytes or more")

    def requires(self, draft: Draft) -> str:
        return ""

    def __call__(self, draft: Draft) -> Passed:
        """Raises StorageError: no room for the temporary file."""
        large = [t for t in tensors(draft.proto) if movable(t, self.smallest)]
        if not large:
            return unchanged(draft, "no weight in the model's file is large enough to move")
        size = sum(map(inside, large))
        note = f"{len(large):,} weights, {size / 1e6:,.1f} MB, lie in a file of their own"
        return Passed(gathered(draft, self.smallest), (note,))

    def ensures(self, before: Draft, after: Draft) -> str:
        counts = [sum(1 for _ in tensors(d.proto)) for d in (before, after)]
        return "" if counts[0] == counts[1] else "a weight is gone"


def inside(tensor: Any) -> int:
    """Bytes that a tensor takes in the model's file; 0 for text, which can lie nowhere else."""
    if tensor.data_location == EXTERNAL or tensor.data_type == onnx().TensorProto.STRING:
        return 0
    return int(tensor.ByteSize())


def movable(tensor: Any, smallest: int) -> bool:
    """Whether a tensor lies in the model's file and may be moved out of it."""
    size, (whole, few) = inside(tensor), _READ
    if not size or size < smallest or int(np.prod(tensor.dims, dtype=np.int64)) <= few:
        return False
    dtype = np.dtype(onnx().helper.tensor_dtype_to_np_dtype(tensor.data_type))
    return dtype.kind not in "iub" or size >= whole


def gathered(draft: Draft, smallest: int) -> Draft:
    """The draft with its weights from this size on, and all that lie in files, in one new temporary file.

    Raises:
        StorageError: no room.
        ModelError: a weight's file ends too early.
    """
    scratch = Scratch()
    proto = draft.copy()
    file = scratch.path / _NAME
    try:
        with file.open("wb") as writer:
            for tensor in _large(proto, smallest):
                _move(draft, tensor, writer)
            writer.truncate(writer.tell())
    except EOFError as error:
        raise ModelError(f"the weights cannot be read: {error}") from error
    except OSError as error:
        raise storage_error(file, error) from error
    return draft.refiled(proto, {_NAME: file}, scratch)


def _large(proto: Any, smallest: int) -> Iterator[Any]:
    for tensor in tensors(proto):
        if tensor.data_location == EXTERNAL or movable(tensor, smallest):
            yield tensor


def _move(draft: Draft, tensor: Any, writer: BinaryIO) -> None:
    """Its bytes to the end of the file, and the place into the tensor."""
    writer.seek(-writer.tell() % ALIGNED, 1)
    offset = writer.tell()
    if tensor.data_location == EXTERNAL:
        where = reference(tensor)
        with draft.files[where.location].open("rb") as reader:
            reader.seek(where.offset)
            copy_span(reader, writer, where.length)
    else:
        writer.write(_raw(tensor))
    point(tensor, _NAME, offset, writer.tell() - offset)


def _raw(tensor: Any) -> bytes:
    """Little-endian bytes, whichever field holds the numbers."""
    if tensor.HasField("raw_data"):
        return bytes(tensor.raw_data)
    helper = onnx().numpy_helper
    raw: bytes = helper.from_array(helper.to_array(tensor)).raw_data
    return raw


def point(tensor: Any, location: str, offset: int, length: int) -> None:
    """Let a tensor have its numbers in a file."""
    for name in ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data"):
        tensor.ClearField(name)
    tensor.data_location = EXTERNAL
    del tensor.external_data[:]
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        tensor.external_data.add(key=key, value=str(value))
