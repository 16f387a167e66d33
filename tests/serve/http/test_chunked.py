from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.serve.http.chunked import Chunks
from hotlap.serve.status import BodyTooLarge, Malformed, Refused


def wire(pieces: list[bytes], extension: bytes = b"", trailers: bytes = b"") -> bytes:
    chunks = b"".join(b"%X%b\r\n%b\r\n" % (len(p), extension, p) for p in pieces if p)
    return chunks + b"000\r\n" + trailers + b"\r\n"


def fed(data: bytes, cuts: list[int], most: int = 10_000) -> tuple[Chunks, bytes]:
    chunks = Chunks(most)
    places = sorted({min(c, len(data)) for c in cuts} | {0, len(data)})
    rest = b""
    for start, end in pairwise(places):
        rest += data[start:end] if chunks.complete else chunks.feed(data[start:end])
    return chunks, rest


@given(
    st.lists(st.binary(max_size=40), max_size=8),
    st.sampled_from([b"", b";a=b", b' ; a="b c"']),
    st.sampled_from([b"", b"A: b\r\n", b"A: b\r\nC:\r\n"]),
    st.binary(max_size=10),
    st.lists(st.integers(0, 400), max_size=30),
)
def test_a_body_is_put_together_however_it_arrives(
    pieces: list[bytes], extension: bytes, trailers: bytes, behind: bytes, cuts: list[int]
) -> None:
    chunks, rest = fed(wire(pieces, extension, trailers) + behind, cuts)
    assert chunks.complete
    assert (bytes(chunks.body), rest) == (b"".join(pieces), behind)


@given(st.binary(max_size=60), st.integers(0, 30), st.lists(st.integers(0, 100), max_size=10))
def test_whatever_comes_is_taken_or_refused(noise: bytes, place: int, cuts: list[int]) -> None:
    sound = wire([b"hello", b"world"])
    try:
        chunks, rest = fed(sound[:place] + noise + sound[place:], cuts)
    except Refused as error:
        assert str(error)
    else:
        assert len(chunks.body) <= 10_000
        assert chunks.complete or rest == b""


@pytest.mark.parametrize(
    "data",
    [
        b"5\nhello\r\n0\r\n\r\n",
        b"\r\n",
        b"\n",
        b" 5\r\nhello",
        b"+5\r\nhello",
        b"5\r\nhelloo\r\n",
        b"5\r\nhello\n0\r\n\r\n",
        b"g\r\n",
        b"1" * 16 + b"\r\n",
        b"5;" + b"x" * 1100,
        b"5;" + b"x" * 1100 + b"\r\n",
        b"5;a\x00\r\nhello\r\n",
        b"0\r\n folded: x\r\n\r\n",
        b"0\r\nno colon\r\n\r\n",
        b"0\r\n:\r\n\r\n",
        b"0\r\n" + b"A: " + b"b" * 9000,
        b"0\r\n" + b"A: bbbbbbbbbbbbbbb\r\n" * 500,
    ],
)
def test_what_is_no_chunked_body(data: bytes) -> None:
    with pytest.raises(Malformed):
        Chunks(10_000).feed(data)


def test_no_more_than_is_taken() -> None:
    assert Chunks(10).feed(wire([b"12345", b"67890"])) == b""
    with pytest.raises(BodyTooLarge, match="more than 10 bytes"):
        Chunks(10).feed(b"5\r\n12345\r\n6\r\n")
    with pytest.raises(BodyTooLarge):
        Chunks(10).feed((b"1;" + b"x" * 1000 + b"\r\n1\r\n") * 100)
