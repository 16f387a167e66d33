"""Bodies of JSON that are no inference: `json_object`, `read_json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from hotlap.errors import InputError

__all__ = ["json_object", "read_json"]

T = TypeVar("T")


def read_json(body: bytes | memoryview, kind: type[T], otherwise: str) -> T:
    """The body as that type.

    Args:
        otherwise: how the error begins.

    Raises:
        InputError: it is something else, no JSON, or nested too deeply.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:  # the second from msgspec up to 0.21
        raise InputError(f"{otherwise}: {error}") from error
    except RecursionError as error:
        raise InputError(f"{otherwise}: it is nested too deeply") from error


def json_object(body: bytes | memoryview) -> Mapping[str, Any]:
    """A body that is a JSON object, or nothing.

    Raises:
        InputError: it is something else.
    """
    return read_json(body, dict[str, Any], "the body is no JSON object") if body else {}
