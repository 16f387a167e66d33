"""Numbers of a tensor in JSON: lists to arrays and back, with no value changed on the way: `Numbers`."""

from __future__ import annotations

import json
import math
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta

from hotlap.tensors import DType
from hotlap.wire.header import said
from hotlap.wire.problems import Wrong

__all__ = ["UNREADABLE", "Numbers", "as_text", "check_empty", "is_nested", "widened"]

Array = npt.NDArray[Any]
Shape = tuple[int, ...]

_PRECISION = {"float16": (16, 11), "bfloat16": (128, 8), "float32": (128, 24)}
"""Exponent of two just above the largest finite number, and bits of the significand, the hidden one included
(IEEE 754; bfloat16 is float32's upper half)."""
_SPACES = b" \t\r\n"
_NOT_FLAT = frozenset((b"", b"[", b"]", b" ", b"\t", b"\r", b"\n"))
"""What stands second in a JSON text that is no list of numbers, or for which more must be looked at."""
_U = ord("u")
_encode = msgspec.json.Encoder().encode
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError)
"""What a decoder raises; the second from msgspec up to 0.21."""


class Numbers:
    """Reads and writes one element type's numbers in JSON.

    Whole numbers must be written as such (``1``, not ``1.0`` or ``true``) and lie within the type. A float
    is rounded to the type as everywhere, but one too large for it is refused, not made infinite.
    """

    __slots__ = ("_by_depth", "_element", "_flat", "_float", "_label", "_numpy", "_short")

    def __init__(self, dtype: DType, numpy: np.dtype[Any]) -> None:
        self._numpy = numpy
        self._label = dtype.protocol
        self._float = dtype.is_float
        self._short = dtype.is_float and dtype.bits == 16
        self._element = _type(dtype)
        decoder = msgspec.json.Decoder(_lists(self._element, 1))
        self._flat = decoder.decode
        self._by_depth: dict[int, Any] = {1: decoder}

    def read(self, text: bytes, shape: Shape, count: int) -> Array:
        """The array that the JSON text holds, flat or nested as the shape says.

        Args:
            text: JSON that was seen to be well-formed.
            count: elements of the shape.

        Raises:
            Wrong: other values than this type has, or not so many.
        """
        commas = text.count(b",") + 1
        if commas == count and text[1:2] not in _NOT_FLAT:
            try:
                return np.fromiter(self._flat(text), self._numpy, count).reshape(shape)
            except UNREADABLE as error:
                raise Wrong(f"{said(error, 'data')} ({self._label})") from error
            except OverflowError as error:
                raise Wrong(f"data holds a number outside {self._label}") from error
        return self._read(text, shape, count, commas)

    def _read(self, text: bytes, shape: Shape, count: int, commas: int) -> Array:
        if count == 0:
            check_empty(text, shape)
            return np.empty(shape, self._numpy)
        # Known before anything is made of it: numbers hold no commas.
        if commas != count or not text.strip(b"[] \t\r\n"):
            found = commas if text.strip(b"[] \t\r\n") else 0
            raise Wrong(f"data holds {found:,} values, shape {list(shape)} needs {count:,}")
        depth = 1
        if is_nested(text):
            depth = max(len(shape), 1)
            # So many lists there are, unless some are empty; a client may send millions of those.
            if text.count(b"[") != sum(math.prod(shape[:axis]) for axis in range(depth)):
                raise Wrong(f"data is nested otherwise than shape {list(shape)} says")
        decoder = self._by_depth.get(depth)
        if decoder is None:
            decoder = self._by_depth[depth] = msgspec.json.Decoder(_lists(self._element, depth))
        try:
            values = decoder.decode(text)
        except UNREADABLE as error:
            raise Wrong(f"{said(error, 'data')} ({self._label})") from error
        return self._made(values, depth, shape)

    def convert(self, values: Any, shape: Shape, count: int) -> Array:
        """The same of Python's own values, NaN and infinities among them.

        Raises:
            Wrong: as `read`.
        """
        if not self._float or count == 0:
            return self.read(as_text(values), shape, count)
        depth = 1
        if isinstance(values, list) and values and isinstance(values[0], list):
            depth = max(len(shape), 1)
        found = _leaves(values, depth)
        if found != count:
            raise Wrong(f"data holds {found:,} values, shape {list(shape)} needs {count:,}")
        wide = self._made(values, depth, shape, np.dtype(np.float64))
        with np.errstate(over="ignore", invalid="ignore"):
            array = wide.astype(self._numpy)
            lost = bool((np.isinf(array) & np.isfinite(wide)).any())
        if lost:
            raise Wrong(f"data holds a number too large for {self._label}")
        return array

    def write(self, array: Array) -> bytes:
        """A flat JSON list, row by row; NaN and infinities as the words ``NaN``, ``Infinity``, ``-Infinity``,
        as this protocol's servers write them, since null would lose which it was."""
        if self._short:
            array = widened(array)
        values = array.ravel().tolist()
        text = _encode(values)
        if self._float and _U in text:  # of null, the only word that there can be
            return json.dumps(values, separators=(",", ":")).encode()
        return text

    def _made(self, values: Any, depth: int, shape: Shape, dtype: np.dtype[Any] | None = None) -> Array:
        try:
            array = np.array(values, dtype or self._numpy)
        except OverflowError as error:
            raise Wrong(f"data holds a number outside {self._label}") from error
        except ValueError as error:
            raise Wrong(f"data is nested unevenly, expected {list(shape)}") from error
        if depth > 1 and array.shape != shape:
            raise Wrong(f"data is nested as {list(array.shape)}, shape says {list(shape)}")
        return array.reshape(shape)


def as_text(values: Any) -> bytes:
    """JSON again of what Python's own parser read.

    Raises:
        Wrong: it holds what no tensor can.
    """
    try:
        return msgspec.json.encode(values)
    except UnicodeEncodeError as error:
        raise Wrong("data holds half of a surrogate pair, which is no text") from error
    except RecursionError as error:
        raise Wrong("data is nested too deeply") from error


def _leaves(values: Any, depth: int) -> int:
    """How many numbers there are in lists of that depth; nothing else may be."""
    for _ in range(depth):
        if not isinstance(values, list):
            raise Wrong("data: expected lists of numbers")
        values = [v for part in values for v in (part if isinstance(part, list) else (part,))]
    wrong = next((type(v).__name__ for v in values if type(v) not in (int, float)), None)
    if wrong:
        raise Wrong(f"data: expected numbers, got {wrong}")
    return len(values)


def widened(array: Array) -> Array:
    """Floats of two bytes as float32, which holds each of them, NaN of every kind included."""
    with np.errstate(invalid="ignore"):
        return array.astype(np.float32)


def check_empty(text: bytes, shape: Shape) -> None:
    """
    Raises:
        Wrong: the JSON holds more than empty lists.
    """
    if text.translate(None, b"[], \t\r\n"):
        raise Wrong(f"data holds values, shape {list(shape)} has none")


def is_nested(text: bytes) -> bool:
    """Whether the JSON list's first element is a list."""
    start = text[1:2]
    return start == b"[" or (start in _SPACES and text[1:].lstrip(_SPACES)[:1] == b"[")


def _lists(element: Any, depth: int) -> Any:
    for _ in range(depth):
        element = list[element]
    return element


def _type(dtype: DType) -> Any:
    """What msgspec checks of one element."""
    if dtype.name == "bool":
        return bool
    if dtype.is_integer:
        info = np.iinfo(dtype.name)
        # msgspec's own limits end at 2^63 - 1; above, numpy refuses what does not fit.
        most = int(info.max) if info.max < 2**63 else None
        return Annotated[int, Meta(ge=int(info.min), le=most)]
    if dtype.name not in _PRECISION:
        return float
    exponent, bits = _PRECISION[dtype.name]
    # From here on a number rounds to infinity; ml_dtypes rounds by way of float32.
    edge = 2.0**exponent * (1 - 2.0 ** -(bits + 1))
    below = np.nextafter(np.float32(edge) if dtype.name == "bfloat16" else edge, 0)
    return Annotated[float, Meta(ge=-float(below), le=float(below))]
