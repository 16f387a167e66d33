"""An answer, and how it looks on the wire: `Reply`, `refusal`, `written`."""

from __future__ import annotations

import logging
from http import HTTPStatus

import msgspec
from msgspec import Struct, field

from hotlap.errors import HotlapError
from hotlap.serve.status import MethodNotAllowed, Unauthorized, row_of

__all__ = ["CONTINUE", "Reply", "refusal", "written"]

_log = logging.getLogger("hotlap.serve")

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

_JOINED = 64 * 1024
"""Bytes. Smaller answers are joined, so that one system call writes them; larger ones are not copied."""
_LONGEST = 16 * 1024
"""Characters of an error's text."""

_LINES = {s.value: b"HTTP/1.1 %d %b\r\n" % (s.value, s.phrase.encode()) for s in HTTPStatus}

Buffer = bytes | memoryview


class Reply(Struct):
    """One answer.

    Attributes:
        status: of HTTP.
        body: the pieces, written one behind the other; they must not change until they are written.
        headers: further ones: name, value.
        content_type: of the body; nothing of it is sent where there is no body.
    """

    status: int = 200
    body: list[Buffer] = field(default_factory=list)
    headers: tuple[tuple[bytes, bytes], ...] = ()
    content_type: bytes = b"application/json"

    @property
    def nbytes(self) -> int:
        """Of the body."""
        body = self.body
        if len(body) == 1 and type(body[0]) is bytes:
            return len(body[0])
        return sum(len(b) if type(b) is bytes else memoryview(b).nbytes for b in body)


def refusal(error: BaseException) -> Reply:
    """What a client is told of an error: ``{"error": "…"}`` with the table's status.

    The text of an error that is none of hotlap's own stays in the log: it may tell what nobody asked for.
    """
    row = row_of(error)
    if isinstance(error, HotlapError):
        text = str(error)
        if row.status == 500:
            _log.error("%s: %s", type(error).__name__, text)
    else:
        text = "internal error: the server's log says more"
        _log.error("internal error", exc_info=error)
    headers: tuple[tuple[bytes, bytes], ...] = ()
    if row.retry is not None:
        headers = ((b"Retry-After", b"%d" % row.retry),)
    if isinstance(error, MethodNotAllowed):
        headers = ((b"Allow", ", ".join(error.allowed).encode()),)
    if isinstance(error, Unauthorized):
        headers = ((b"WWW-Authenticate", b"Bearer"),)
    return Reply(row.status, [msgspec.json.encode({"error": _sayable(text)})], headers)


def _sayable(text: str) -> str:
    """Text that is UTF-8 and of bearable length."""
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
    return text.encode("utf-8", "backslashreplace").decode()


def written(reply: Reply, date: bytes, connection: bytes, *, head_only: bool = False) -> list[Buffer]:
    """The answer as buffers to write; one alone where it is small.

    Args:
        date: the line of that header, with its end; or nothing.
        connection: the line of that header, with its end; or nothing.
        head_only: the request was a HEAD: its answer has all of the header lines and no body.
    """
    body, size = reply.body, reply.nbytes
    parts: list[Buffer] = [_LINES[reply.status], date, connection]
    for name, value in reply.headers:
        parts.append(b"%b: %b\r\n" % (name, value))
    if size:
        parts.append(b"Content-Type: %b\r\nContent-Length: %d\r\n\r\n" % (reply.content_type, size))
    elif reply.status == 204:  # such an answer has no length either (RFC 9110, 8.6)
        parts.append(b"\r\n")
    else:
        parts.append(b"Content-Length: 0\r\n\r\n")
    if head_only:
        return [b"".join(parts)]
    if size <= _JOINED:
        parts += body
        return [b"".join(parts)]
    return [b"".join(parts), *body]
