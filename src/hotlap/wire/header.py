"""The JSON of an inference request as typed values: `read_header`.

Numbers of tensors are not touched here: each `data` stays raw text until its type and size are known.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Raw, Struct

from hotlap.errors import InputError

__all__ = [
    "Header",
    "InputParameters",
    "OutputParameters",
    "RequestInput",
    "RequestOutput",
    "read_header",
    "said",
]

Size: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Dim: TypeAlias = Annotated[int, Meta(le=2**63 - 1)]
"""An axis may still be negative here: that is told with the tensor's name."""
Scalar: TypeAlias = str | int | float | bool | None
"""What the protocol's parameters may be."""


class InputParameters(Struct, gc=False):
    """Parameters of an input; others mean nothing here and are passed over."""

    binary_data_size: Size | None = None
    shared_memory_region: str | None = None
    shared_memory_offset: Size | None = None
    shared_memory_byte_size: Size | None = None


class OutputParameters(Struct, gc=False):
    """Parameters of an output; others are passed over."""

    binary_data: bool | None = None
    classification: Size | None = None
    shared_memory_region: str | None = None
    shared_memory_offset: Size | None = None
    shared_memory_byte_size: Size | None = None


class RequestInput(Struct):
    """One input; `data` is the JSON text of its numbers, a list where the request holds NaN or Infinity."""

    name: str
    shape: tuple[Dim, ...]
    datatype: str
    parameters: InputParameters | None = None
    data: Raw | msgspec.UnsetType = UNSET


class RequestOutput(Struct):
    """One output that is wanted."""

    name: str
    parameters: OutputParameters | None = None


class Header(Struct):
    """The whole. Some clients write null for what they leave out."""

    inputs: list[RequestInput]
    id: str | None = None
    outputs: list[RequestOutput] | None = None
    parameters: dict[str, Scalar] | None = None


class _LooseInput(RequestInput):
    data: Any = UNSET


class _LooseHeader(Header):
    inputs: list[_LooseInput]  # type: ignore[assignment]


_decode = msgspec.json.Decoder(Header).decode


def read_header(text: bytes | memoryview) -> Header:
    """The request's JSON.

    JSON has no NaN and no Infinity. Python's clients write them all the same, as these words, and this
    protocol's servers take them; so do we, by a slower parser.

    Raises:
        InputError: it is no JSON, or not the protocol's; it is nested too deeply.
    """
    try:
        return _decode(text)
    except msgspec.ValidationError as error:
        raise InputError(f"the request: {said(error, '')}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        whole = bytes(text)
        if b"NaN" not in whole and b"Infinity" not in whole:
            raise InputError(f"the request is not JSON: {error}") from error
    except RecursionError as error:
        raise InputError("the request is nested too deeply") from error
    return _read_loosely(whole)


def _read_loosely(text: bytes) -> Header:
    try:
        read = json.loads(str(text, "utf-8"))
        if b"\\ud" in text.lower():
            # Python reads half of a surrogate pair, and nothing could write it again: found out here.
            json.dumps(read, ensure_ascii=False).encode()
        return msgspec.convert(read, _LooseHeader)
    except msgspec.ValidationError as error:
        raise InputError(f"the request: {said(error, '')}") from error
    except ValueError as error:
        raise InputError(f"the request is not JSON: {error}") from error
    except RecursionError as error:
        raise InputError("the request is nested too deeply") from error


def said(error: Exception, whole: str) -> str:
    """msgspec's message with the place in front: ``data[3]: expected int, got str``."""
    message, _, place = str(error).partition(" - at `$")
    place = f"{whole}{place.rstrip('`')}".lstrip(".")
    message = f"{message[:1].lower()}{message[1:]}".replace("`", "")
    return f"{place}: {message}" if place else message
