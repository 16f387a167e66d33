from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.serve.http.head import END, might_become_a_head, read_head
from hotlap.serve.http.limits import Limits
from hotlap.serve.status import AddressTooLong, HeadTooLarge, Malformed, Refused

LIMITS = Limits()
names = st.text(string.ascii_letters + string.digits + "-_", min_size=1, max_size=12)
values = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30)


def head(*lines: str) -> bytes:
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def test_a_head_is_read() -> None:
    read = read_head(
        head(
            "POST /v2/a%20b?x=1&y HTTP/1.1", "Host: h", "CONTENT-Length: 12", "X: a ", "x: b",
            "Expect: 100-Continue",
        ),
        LIMITS,
    )  # fmt: skip
    assert (read.method, read.path) == ("POST", b"/v2/a%20b")
    assert read.headers == {
        b"host": b"h", b"content-length": b"12", b"x": b"a, b", b"expect": b"100-Continue",
    }  # fmt: skip
    assert (read.length, read.chunked, read.keep_alive, read.old, read.expects) == (
        12,
        False,
        True,
        False,
        True,
    )


@pytest.mark.parametrize(
    ("lines", "keep_alive", "old"),
    [
        (("GET / HTTP/1.1", "Host: h"), True, False),
        (("GET / HTTP/1.1", "Host: h", "Connection: close"), False, False),
        (("GET / HTTP/1.1", "Host: h", "Connection: Close, X"), False, False),
        (("GET / HTTP/1.0",), False, True),
        (("GET / HTTP/1.0", "Connection: keep-alive"), True, True),
    ],
)
def test_whether_the_connection_is_kept(lines: tuple[str, ...], keep_alive: bool, old: bool) -> None:
    read = read_head(head(*lines), LIMITS)
    assert (read.keep_alive, read.old) == (keep_alive, old)


@pytest.mark.parametrize(
    ("address", "path"),
    [("http://h/a", b"/a"), ("HTTPS://h", b"/"), ("http://h?x", b"/"), ("//a", b"//a"), ("/a#b?c", b"/a#b")],
)
def test_the_path_of_an_address(address: str, path: bytes) -> None:
    assert (
        read_head(head(f"GET {address} HTTP/1.1", "Host: h"), LIMITS).path.partition(b"#")[0]
        == (path.partition(b"#")[0])
    )


def test_a_body_is_only_promised_where_there_is_one() -> None:
    lines = ("POST / HTTP/1.1", "Host: h", "Expect: 100-continue")
    assert not read_head(head(*lines), LIMITS).expects
    assert read_head(head(*lines, "Transfer-Encoding: Chunked"), LIMITS).chunked
    assert not read_head(head("POST / HTTP/1.0", "Expect: 100-continue", "Content-Length: 1"), LIMITS).expects


def test_limits_are_limits() -> None:
    many = [f"A{n}: b" for n in range(LIMITS.headers - 1)]
    assert len(read_head(head("GET / HTTP/1.1", "Host: h", *many), LIMITS).headers) == LIMITS.headers
    with pytest.raises(HeadTooLarge, match="101 header lines, at most 100"):
        read_head(head("GET / HTTP/1.1", "Host: h", "C: d", *many), LIMITS)
    assert read_head(head("GET /" + "a" * 4095 + " HTTP/1.1", "Host: h"), LIMITS)
    with pytest.raises(AddressTooLong, match="4,097 bytes, at most 4,096"):
        read_head(head("GET /" + "a" * 4096 + " HTTP/1.1", "Host: h"), LIMITS)


@pytest.mark.parametrize("line", ["A : b", ": b", "A", "A:\x01", "A: b\x7f", " A: b", "Content-Length: 1_0"])
def test_lines_that_are_none(line: str) -> None:
    with pytest.raises(Malformed):
        read_head(head("GET / HTTP/1.1", "Host: h", line), LIMITS)


@given(st.dictionaries(names.filter(lambda n: n.lower() not in _MEANT), values, max_size=20))
def test_every_header_comes_through(headers: dict[str, str]) -> None:
    read = read_head(head("GET / HTTP/1.1", "Host: h", *(f"{n}: {v}" for n, v in headers.items())), LIMITS)
    for name in headers:
        mine = [v.strip(" ") for n, v in headers.items() if n.lower() == name.lower()]
        assert read.headers[name.lower().encode()].decode() == ", ".join(mine)


_MEANT = {"host", "connection", "content-length", "transfer-encoding", "expect", "upgrade", "content-type",
          "authorization", "content-encoding"}  # fmt: skip


@given(st.binary(max_size=200), st.integers(0, 60), st.integers(0, 8))
def test_whatever_comes_is_read_or_refused(noise: bytes, place: int, cut: int) -> None:
    sound = head("POST /v2 HTTP/1.1", "Host: h", "Content-Length: 3", "A: b")
    block = (sound[:place] + noise + sound[place + cut :]).partition(END)[0] + END
    try:
        read = read_head(block, LIMITS)
    except Refused as error:
        assert str(error)
    else:
        assert 0 <= read.length < 10**18 and not (read.chunked and read.length)
        assert block.count(b"\n") == block.count(b"\r\n") == block.count(b"\r")


def test_a_request_line_beyond_all_bounds_is_an_address_however_it_arrives() -> None:
    line = b"GET /" + b"a" * 20_000
    for block in (line, line + b" HTTP/1.1\r\nHost: h\r\n\r\n"):
        with pytest.raises(AddressTooLong):
            might_become_a_head(block, Limits())
