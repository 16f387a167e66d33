"""The head of a request, read strictly: `read_head`.

A head is read whole, once its last byte is there, by a parser of its own: nothing of one request can leak
into the next. What two programs on the path might read in two ways (RFC 9112, 11.2: request smuggling) is
refused.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from hotlap.errors import MissingExtra
from hotlap.serve.http.limits import Limits
from hotlap.serve.status import (
    AddressTooLong,
    ExpectationFailed,
    HeadTooLarge,
    Malformed,
    VersionNotSupported,
)

__all__ = ["END", "Head", "load_parser", "might_become_a_head", "read_head"]

END = b"\r\n\r\n"
"""What every head ends with, and holds nowhere else."""

_ALONE = re.compile(rb"(?<!\r)\n|\r(?!\n|\Z)")
_REQUEST_LINE = re.compile(rb"[A-Z-]+ [\x21-\x7e]+ HTTP/([0-9]\.[0-9])\r\n")
"""With one blank each (RFC 9112, 3), where the parser would let several pass."""
_LENGTH = re.compile(rb"[0-9]{1,18}")
_ONLY_ONCE = frozenset(
    {
        b"authorization", b"content-encoding", b"content-length", b"content-type", b"expect", b"host",
        b"inference-header-content-length", b"transfer-encoding",
    }
)  # fmt: skip
"""Headers of which a second one would be somebody's guess."""


@dataclass(frozen=True, slots=True)
class Head:
    """What a head says.

    Attributes:
        method: upper-case.
        path: as it came, without query; starts with a slash, or is "*".
        headers: by lower-case name; what came several times is joined by commas.
        length: bytes of the body; 0 where there is none, or where nobody knows.
        chunked: the body says itself where it ends.
        keep_alive: the connection may be used again.
        old: HTTP/1.0, which keeps a connection only where both say so, and knows no interim answers.
        expects: the client waits for a "100 Continue" before it sends the body.
    """

    method: str
    path: bytes
    headers: Mapping[bytes, bytes]
    length: int
    chunked: bool
    keep_alive: bool
    old: bool
    expects: bool


class _Sink:
    """What the parser calls."""

    def __init__(self) -> None:
        self.address = b""
        self.lines: list[tuple[bytes, bytes]] = []
        self.complete = False

    def on_url(self, address: bytes) -> None:
        self.address += address

    def on_header(self, name: bytes, value: bytes) -> None:
        self.lines.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self.complete = True


@cache
def load_parser() -> Any:
    """The module ``httptools``.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        return importlib.import_module("httptools")
    except ImportError as error:
        raise MissingExtra("serve", "serving") from error


def might_become_a_head(block: bytes | bytearray, limits: Limits, start: int = 0) -> None:
    """Looks at the beginning of a head, so that what can't become one is refused at once.

    Args:
        start: up to where it has been looked at already.

    Raises:
        Malformed: a line does not end with CR LF.
        HeadTooLarge, AddressTooLong: it is too long already.
    """
    if _ALONE.search(block, start):
        raise Malformed("lines of HTTP end with CR LF, and hold neither of them anywhere else")
    if len(block) > limits.head:
        if not 0 <= block.find(b"\r\n") <= limits.head:
            raise AddressTooLong(f"the request line has more than {limits.head:,} bytes")
        raise HeadTooLarge(f"the header lines have more than {limits.head:,} bytes")


def read_head(block: bytes, limits: Limits) -> Head:
    """Reads one head.

    Args:
        block: from the request's first byte to the empty line, which it ends with.

    Raises:
        Malformed, HeadTooLarge, AddressTooLong, VersionNotSupported, ExpectationFailed: the request cannot be
            read, and neither can what follows it.
    """
    might_become_a_head(block, limits)
    line = _REQUEST_LINE.match(block)
    if line is None:
        raise Malformed("the first line is not METHOD ADDRESS HTTP/1.1")
    version = line[1].decode()
    if version not in ("1.1", "1.0"):
        raise VersionNotSupported(f"HTTP/{version} is not spoken here: HTTP/1.1")
    sink = _Sink()
    parser = _parsed(block, sink)
    if len(sink.lines) > limits.headers:
        raise HeadTooLarge(f"{len(sink.lines):,} header lines, at most {limits.headers:,} are taken")
    if len(sink.address) > limits.address:
        raise AddressTooLong(f"the address has {len(sink.address):,} bytes, at most {limits.address:,}")
    headers = _headers(sink.lines)
    if version == "1.1" and b"host" not in headers:
        raise Malformed("the header Host is missing")
    path = _path(sink.address)
    length, chunked = _body(headers, version)
    return Head(
        method=parser.get_method().decode("ascii"),
        path=path,
        headers=headers,
        length=length,
        chunked=chunked,
        keep_alive=_kept(headers, version),
        old=version == "1.0",
        expects=_expects(headers, version) and (length > 0 or chunked),
    )


def _parsed(block: bytes, sink: _Sink) -> Any:
    httptools = load_parser()
    parser = httptools.HttpRequestParser(sink)
    try:
        parser.feed_data(block)
    except httptools.HttpParserUpgrade:
        pass  # an upgrade is an offer, which a server need not take
    except httptools.HttpParserError as error:
        raise Malformed(f"this is no HTTP: {error}") from error
    if not sink.complete:
        raise Malformed("this is no HTTP")
    return parser


def _headers(lines: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    headers: dict[bytes, bytes] = {}
    for name, value in lines:
        if name not in headers:
            headers[name] = value.strip(b" \t")
        elif name in _ONLY_ONCE:
            raise Malformed(f"the header {name.decode('ascii')} comes more than once")
        else:
            headers[name] += b", " + value.strip(b" \t")
    return headers


def _path(address: bytes) -> bytes:
    """Without query; of "http://host/path" too, which a server must take (RFC 9112, 3.2.2)."""
    if address[:7].lower() == b"http://" or address[:8].lower() == b"https://":
        slash = address.find(b"/", 8)
        address = b"/" if slash < 0 else address[slash:]
    if address[:1] != b"/" and address != b"*":
        raise Malformed("the address must start with a slash")
    return address.partition(b"?")[0]


def _body(headers: Mapping[bytes, bytes], version: str) -> tuple[int, bool]:
    """Length and whether it is chunked. The parser has refused most of this already."""
    coding, length = headers.get(b"transfer-encoding"), headers.get(b"content-length")
    if coding is not None:
        if length is not None:
            raise Malformed("Content-Length and Transfer-Encoding exclude each other")
        if version == "1.0" or coding.lower() != b"chunked":
            raise Malformed("Transfer-Encoding must be chunked, alone, in HTTP/1.1")
        return 0, True
    if length is None:
        return 0, False
    if not _LENGTH.fullmatch(length):
        raise Malformed("Content-Length is no number")
    return int(length), False


def _kept(headers: Mapping[bytes, bytes], version: str) -> bool:
    """By what the head says alone: the parser forgets it once a request without a body is complete."""
    said = {word.strip() for word in headers.get(b"connection", b"").lower().split(b",")}
    return b"close" not in said and (version == "1.1" or b"keep-alive" in said)


def _expects(headers: Mapping[bytes, bytes], version: str) -> bool:
    expectation = headers.get(b"expect")
    if expectation is None or version == "1.0":
        return False
    if expectation.lower() != b"100-continue":
        raise ExpectationFailed("Expect: only 100-continue is known")
    return True
