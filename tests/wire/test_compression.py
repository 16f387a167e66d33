from __future__ import annotations

import contextlib
import gzip
import random
import tracemalloc
import zlib

import pytest

from hotlap.errors import InputError, TooLarge
from hotlap.wire import ENCODINGS, deflate, inflate

DATA = b'{"inputs":[]}' * 100


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_what_was_packed_is_unpacked(encoding: str) -> None:
    body = deflate([DATA[:7], memoryview(DATA)[7:]], encoding)
    assert len(body) < len(DATA)
    assert inflate(body, encoding, len(DATA)) == DATA
    assert inflate(memoryview(body), encoding, len(DATA)) == DATA
    assert inflate(deflate([], encoding), encoding, 0) == b""


def test_the_formats_are_those_of_http() -> None:
    assert ENCODINGS == ("gzip", "deflate")
    assert gzip.decompress(deflate([DATA], "gzip")) == DATA
    assert zlib.decompress(deflate([DATA], "deflate")) == DATA
    assert inflate(gzip.compress(DATA), "gzip", 10**6) == DATA
    assert inflate(zlib.compress(DATA), "deflate", 10**6) == DATA


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_bomb_is_refused_before_it_grows(encoding: str) -> None:
    bomb = deflate([bytes(10**6)] * 100, encoding)
    tracemalloc.start()
    with pytest.raises(TooLarge, match="larger than 1,000,000 bytes"):
        inflate(bomb, encoding, 10**6)
    assert tracemalloc.get_traced_memory()[1] < 4 * 10**6
    tracemalloc.stop()
    assert inflate(deflate([bytes(10**6)], encoding), encoding, 10**6) == bytes(10**6)
    with pytest.raises(TooLarge):
        inflate(deflate([bytes(10**6 + 1)], encoding), encoding, 10**6)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_what_is_broken_cut_off_or_followed_is_refused(encoding: str) -> None:
    body = deflate([DATA], encoding)
    for wrong, said in [
        (b"hello, this is no such thing", "is not"),
        (body[:-1], "cut off"),
        (b"", "cut off"),
        (body + b"x", "1 bytes follow"),
        (body + body, "bytes follow"),
        (body[:-4] + bytes(4), "is not"),
    ]:
        with pytest.raises(InputError, match=said):
            inflate(wrong, encoding, 10**6)


def test_one_format_is_not_taken_for_the_other() -> None:
    with pytest.raises(InputError, match="not gzip"):
        inflate(zlib.compress(DATA), "gzip", 10**6)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_changed_bytes_are_read_or_refused(encoding: str) -> None:
    rng = random.Random(1)
    body = deflate([DATA], encoding)
    for _ in range(500):
        changed = bytearray(body)
        for _ in range(rng.randint(1, 4)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        with contextlib.suppress(InputError):
            assert len(inflate(bytes(changed), encoding, 2000)) <= 2000
