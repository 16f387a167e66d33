"""The bytes of a stored tensor, a piece at a time: from the file itself or from the one beside it.

However a tensor is stored, its bytes come as ONNX's ``raw_data`` has them: little-endian, elements of 4 and 2
bits packed. So the same numbers are always the same bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hotlap.errors import ModelError
from hotlap.model.external import place
from hotlap.model.reference import is_external, reference
from hotlap.model.sizes import dtype_of

__all__ = ["PIECE", "pieces"]

PIECE = 2**16
"""Bytes of a piece; a multiple of every element's size. What is computed from one fits into the processor's
cache, and is so small that the C library does not ask the kernel for it anew: four times as fast as with
pieces of megabytes."""

_TYPED = {
    "float32": ("float_data", "<f4"),
    "complex64": ("float_data", "<f4"),  # real and imaginary parts in turn
    "float64": ("double_data", "<f8"),
    "complex128": ("double_data", "<f8"),
    "int64": ("int64_data", "<i8"),
    "uint64": ("uint64_data", "<u8"),
    "uint32": ("uint64_data", "<u4"),
    "int32": ("int32_data", "<i4"),
    "int16": ("int32_data", "<i2"),
    "uint16": ("int32_data", "<u2"),
    "float16": ("int32_data", "<u2"),  # its bits
    "bfloat16": ("int32_data", "<u2"),
    "int8": ("int32_data", "<i1"),
}
"""Element type to the field that holds it where ``raw_data`` does not, and what one entry becomes. All that
is not here has one byte in each entry of ``int32_data``. Source: onnx.proto3, TensorProto."""


def pieces(tensor: Any, files: Path | Mapping[str, Path]) -> Iterator[bytes | memoryview]:
    """A ``TensorProto``'s bytes, at most `PIECE` at a time; text comes as length and UTF-8 of each cell.

    Args:
        tensor: the tensor.
        files: the model's folder, where files of external weights lie; or location, as the model spells it,
            to a file that is known to be the right one.

    Raises:
        ModelError: its file is missing, unreadable, too short or outside of the folder.
    """
    if is_external(tensor):
        return _from_file(tensor, files)
    if tensor.HasField("raw_data"):
        return _cut(memoryview(tensor.raw_data))
    dtype = dtype_of(tensor)
    if dtype is not None and dtype.name == "string":
        return (struct.pack("<Q", len(text)) + text for text in tensor.string_data)
    return _typed(tensor, "" if dtype is None else dtype.name)


def _cut(whole: memoryview) -> Iterator[memoryview]:
    return (whole[at : at + PIECE] for at in range(0, len(whole), PIECE))


def _typed(tensor: Any, dtype: str) -> Iterator[bytes]:
    field, kind = _TYPED.get(dtype, ("int32_data", "<u1"))
    values = getattr(tensor, field)
    wide = {"int32_data": "<i4", "uint64_data": "<u8"}.get(field, kind)
    step = PIECE // 8
    for at in range(0, len(values), step):
        yield np.array(values[at : at + step], wide).astype(kind).tobytes()


def _from_file(tensor: Any, files: Path | Mapping[str, Path]) -> Iterator[bytes]:
    where = reference(tensor)
    if where.said:
        raise ModelError(where.said)
    file = place(files, where.location) if isinstance(files, Path) else files[where.location]
    left = where.length
    try:
        with file.open("rb", buffering=0) as opened:
            opened.seek(where.offset)
            while left:
                piece = opened.read(min(left, PIECE))
                if not piece:
                    raise ModelError(f'{file}: cut short: weight "{where.tensor}" lacks {left:,} bytes')
                left -= len(piece)
                yield piece
    except OSError as error:
        raise ModelError(f"{file}: cannot be read: {error.strerror or error}") from error
