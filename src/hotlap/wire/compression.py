"""Compressed bodies: `inflate` and `deflate`. What a body may grow to is said before it is unpacked."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from hotlap.errors import InputError, TooLarge

__all__ = ["ENCODINGS", "deflate", "inflate"]

_WINDOW = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
"""zlib's number for each format: a gzip member; a zlib stream, which is what HTTP means by deflate."""
ENCODINGS = tuple(_WINDOW)
"""The content codings that are read and written, as HTTP names them."""

_LEVEL = 1
"""Numbers hardly shrink, and a higher level takes several times as long."""


def inflate(body: bytes | memoryview, encoding: str, most: int) -> bytes:
    """The body unpacked.

    Args:
        encoding: one of `ENCODINGS`.
        most: bytes that it may become.

    Raises:
        InputError: it is not of that encoding, it is cut off, or something follows it.
        TooLarge: it would become larger.
    """
    unpacking = zlib.decompressobj(_WINDOW[encoding])
    try:
        found = unpacking.decompress(body, most + 1)
    except zlib.error as error:
        raise InputError(f"the body is not {encoding}: {error}") from error
    if len(found) > most:
        raise TooLarge(f"the body becomes larger than {most:,} bytes when it is unpacked")
    if not unpacking.eof:
        raise InputError(f"the body is cut off: its {encoding} data has no end")
    if unpacking.unused_data:
        # Several members in a row are legal gzip, but nobody sends them, and a million empty ones are a trap.
        raise InputError(f"{len(unpacking.unused_data):,} bytes follow the {encoding} data")
    return found


def deflate(buffers: Iterable[bytes | memoryview], encoding: str) -> bytes:
    """The buffers as one compressed body.

    Args:
        encoding: one of `ENCODINGS`.
    """
    packing = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW[encoding])
    return b"".join([*(packing.compress(b) for b in buffers), packing.flush()])
