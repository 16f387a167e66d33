"""Text of a tensor (BYTES): in JSON, and as bytes with their lengths: `Texts`, `pack`, `unpack`.

ORT reads an array of str safely, and nothing else that looks like text; so bytes are decoded here, strictly.
"""

from __future__ import annotations

from struct import Struct
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from hotlap.wire.header import said
from hotlap.wire.numbers import UNREADABLE, as_text, check_empty, is_nested
from hotlap.wire.problems import Wrong

__all__ = ["Texts", "one_text", "pack", "unpack"]

Array = npt.NDArray[Any]
Shape = tuple[int, ...]

_LENGTH = Struct("<I")
"""Before each text its length in bytes (the protocol's binary tensor extension)."""


class Texts:
    """Reads and writes text in JSON."""

    __slots__ = ("_by_depth",)

    def __init__(self) -> None:
        self._by_depth: dict[int, Any] = {}

    def read(self, text: bytes, shape: Shape, count: int) -> Array:
        """As `Numbers.read`."""
        if count == 0:
            check_empty(text, shape)
            return np.empty(shape, object)
        depth = max(len(shape), 1) if is_nested(text) else 1
        try:
            values = self._decoder(depth).decode(text)
        except UNREADABLE as error:
            raise Wrong(_said(error)) from error
        return _filled(values, depth, shape, count)

    def convert(self, values: Any, shape: Shape, count: int) -> Array:
        """As `Numbers.convert`."""
        return self.read(as_text(values), shape, count)

    def write(self, array: Array) -> bytes:
        """A flat JSON list of strings, row by row."""
        return msgspec.json.encode(array.ravel().tolist())

    def _decoder(self, depth: int) -> Any:
        if depth not in self._by_depth:
            kind: Any = str
            for _ in range(depth):
                kind = list[kind]
            self._by_depth[depth] = msgspec.json.Decoder(kind)
        return self._by_depth[depth]


def _said(error: Exception) -> str:
    if isinstance(error, msgspec.ValidationError):
        return f"{said(error, 'data')} (BYTES)"
    # The JSON around was well-formed: what is left is an escape that is no character, or bytes that are none.
    return f"data holds text that is not Unicode: {error}"


def _filled(values: Any, depth: int, shape: Shape, count: int) -> Array:
    if depth > 1:
        array = np.array(values, object)
        if array.shape != shape:
            raise Wrong(f"data is nested as {list(array.shape)}, shape says {list(shape)}")
        return array
    if len(values) != count:
        raise Wrong(f"data holds {len(values):,} values, shape {list(shape)} needs {count:,}")
    cells = np.empty(count, object)
    cells[:] = values
    return cells.reshape(shape)


def unpack(data: memoryview, shape: Shape, count: int) -> Array:
    """The texts in the bytes, as an array of str.

    Raises:
        Wrong: the lengths do not add up to the data, there are more or fewer than the shape has, or one is
            not UTF-8.
    """
    end = len(data)
    # Before anything is made: a shape may claim more texts than there could be.
    if count * _LENGTH.size > end:
        raise Wrong(f"{end:,} bytes cannot hold the {count:,} texts of shape {list(shape)}")
    cells = []
    place = 0
    for number in range(count):
        if end - place < _LENGTH.size:
            raise Wrong(f"the bytes end before text {number:,} of {count:,}")
        start = place + _LENGTH.size
        place = start + _LENGTH.unpack_from(data, place)[0]
        if place > end:
            raise Wrong(f"text {number:,} claims {place - start:,} bytes, {end - start:,} are left")
        try:
            cells.append(str(data[start:place], "utf-8"))
        except UnicodeDecodeError as error:
            raise Wrong(f"text {number:,} is not UTF-8") from error
    if place != end:
        raise Wrong(f"{end - place:,} bytes are left after the {count:,} texts of shape {list(shape)}")
    return _filled(cells, 1, shape, count)


def pack(array: Array) -> bytes:
    """The texts row by row, each behind its length."""
    parts: list[bytes] = []
    for cell in array.ravel().tolist():
        text = cell.encode()
        parts += (_LENGTH.pack(len(text)), text)
    return b"".join(parts)


def one_text(data: bytes | memoryview, shape: Shape) -> Array:
    """The bytes as the only text of an array.

    Raises:
        Wrong: they are not UTF-8.
    """
    try:
        return _filled([str(data, "utf-8")], 1, shape, 1)
    except UnicodeDecodeError as error:
        raise Wrong("the body is not UTF-8") from error
