"""A body that says itself where it ends: `Chunks` (RFC 9112, 7.1)."""

from __future__ import annotations

import re

from hotlap.serve.status import BodyTooLarge, Malformed

__all__ = ["Chunks"]

_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\x00-\x08\x0a-\x1f\x7f]*)?")
_LONGEST_LINE = 1024
_MOST_TRAILERS = 8 * 1024
"""Bytes. Trailers are read and forgotten: one that passed for a header would come in by the back door."""


class Chunks:
    """Collects a chunked body.

    Attributes:
        body: what has been collected.
        complete: the end was there.
    """

    __slots__ = ("_left", "_most", "_overhead", "_rest", "_state", "body", "complete")

    def __init__(self, most: int) -> None:
        """
        Args:
            most: bytes of the body.
        """
        self.body = bytearray()
        self.complete = False
        self._most = most
        self._state = self._size
        self._left = 0  # bytes of the chunk, or of the trailers, that are still to come
        self._overhead = 0
        self._rest = b""

    def feed(self, data: bytes) -> bytes:
        """Takes up what has arrived.

        Returns:
            What stands behind the body's end; nothing before it is there.

        Raises:
            Malformed: this is no chunked body.
            BodyTooLarge: it has more than `most` bytes, or spends many times as many on saying so.
        """
        data = self._rest + data
        self._rest = b""
        place = 0
        while not self.complete:
            end = self._state(data, place)
            if end is None:
                self._rest = data[place:]
                return b""
            place = end
        return data[place:]

    def _line(self, data: bytes, place: int, most: int) -> bytes | None:
        end = data.find(b"\n", place)
        if end < 0:
            if len(data) - place > most:
                raise Malformed("a line of a chunked body is too long")
            return None
        if end - place > most or data[end - 1 : end] != b"\r" or end == place:
            raise Malformed("a line of a chunked body is too long, or does not end with CR LF")
        return data[place : end - 1]

    def _size(self, data: bytes, place: int) -> int | None:
        line = self._line(data, place, _LONGEST_LINE)
        if line is None:
            return None
        match = _SIZE.fullmatch(line)
        if match is None:
            raise Malformed("a chunk does not start with its size")
        self._left = int(match[1], 16)
        self._overhead += len(line)
        if len(self.body) + self._left > self._most or self._overhead > self._most + 64 * 1024:
            raise BodyTooLarge(f"the body has more than {self._most:,} bytes")
        self._state = self._data if self._left else self._trailer
        if not self._left:
            self._left = _MOST_TRAILERS
        return place + len(line) + 2

    def _data(self, data: bytes, place: int) -> int | None:
        piece = data[place : place + self._left]
        self.body += piece
        self._left -= len(piece)
        if not self._left:
            self._state = self._after
        return place + len(piece) if piece else None

    def _after(self, data: bytes, place: int) -> int | None:
        ending = data[place : place + 2]
        if not b"\r\n".startswith(ending):
            raise Malformed("a chunk is longer than it says")
        if len(ending) < 2:
            return None
        self._state = self._size
        return place + 2

    def _trailer(self, data: bytes, place: int) -> int | None:
        line = self._line(data, place, self._left)
        if line is None:
            return None
        self._left -= len(line) + 2
        if not line:
            self.complete = True
        elif self._left <= 0 or b":" not in line or line[:1] in b" \t:" or b"\x00" in line or b"\r" in line:
            raise Malformed("the trailers of a chunked body are too long, or no header lines")
        return place + len(line) + 2
