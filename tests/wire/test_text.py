from __future__ import annotations

import json
import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.wire.problems import Wrong
from hotlap.wire.text import Texts, one_text, pack, unpack
from tests.wire import made

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def cells(words: list[str], shape: tuple[int, ...]) -> np.ndarray:
    array = np.empty(len(words), object)
    array[:] = words
    return array.reshape(shape)


def read(text: str, shape: tuple[int, ...]) -> np.ndarray:
    return Texts().read(text.encode(), shape, math.prod(shape))


def refused(text: str, shape: tuple[int, ...]) -> str:
    with pytest.raises(Wrong) as caught:
        read(text, shape)
    return str(caught.value)


@given(st.lists(WORDS, max_size=8))
def test_json_and_bytes_give_back_what_they_were_made_of(words: list[str]) -> None:
    array = cells(words, (len(words),))
    assert made.same(Texts().read(Texts().write(array), array.shape, array.size), array)
    assert made.same(unpack(memoryview(pack(array)), array.shape, array.size), array)


@pytest.mark.parametrize("shape", [(), (6,), (2, 3), (2, 1, 3), (0,), (2, 0), (1, 0, 0)])
def test_flat_and_nested_lists_become_the_same_array(shape: tuple[int, ...]) -> None:
    array = made.values("string", shape)
    assert made.same(read(json.dumps(array.ravel().tolist()), shape), array)
    if shape:
        assert made.same(read(json.dumps(array.tolist(), ensure_ascii=False, indent=1), shape), array)


def test_bytes_are_lengths_and_utf_8() -> None:
    assert pack(cells(["", "é"], (2,))) == b"\x00\x00\x00\x00\x02\x00\x00\x00\xc3\xa9"


@pytest.mark.parametrize(
    ("text", "shape", "said"),
    [
        ('["a"]', (2,), "data holds 1 values, shape [2] needs 2"),
        ("[1]", (1,), "data[0]: expected str, got int (BYTES)"),
        ("[null]", (1,), "data[0]: expected str, got null (BYTES)"),
        ('"a"', (1,), "data: expected array, got str (BYTES)"),
        ('[["a"],["b"]]', (1, 2), "data is nested as [2, 1], shape says [1, 2]"),
        ('[["a","b"],["c"]]', (1, 3), "data is nested as [2], shape says [1, 3]"),
        ('["a"]', (0, 2), "data holds values, shape [0, 2] has none"),
        ('[["a"]]', (1,), "data[0]: expected str, got array (BYTES)"),
    ],
)
def test_what_is_not_that_text_is_refused(text: str, shape: tuple[int, ...], said: str) -> None:
    assert refused(text, shape) == said


@pytest.mark.parametrize("text", [r'["\ud800"]', r'["\udc00\ud800"]'])
def test_half_a_character_is_refused(text: str) -> None:
    assert refused(text, (1,)).startswith("data holds text that is not Unicode")


def test_the_slower_way_takes_text_and_refuses_half_characters() -> None:
    assert Texts().convert(["a", "b"], (2,), 2).tolist() == ["a", "b"]
    with pytest.raises(Wrong, match="surrogate"):
        Texts().convert(["\ud800"], (1,), 1)


def le(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}I", *numbers)


@pytest.mark.parametrize(
    ("data", "count", "said"),
    [
        (b"", 1, "0 bytes cannot hold the 1 texts of shape [1]"),
        (le(0), 10**12, "4 bytes cannot hold the 1,000,000,000,000 texts of shape [1000000000000]"),
        (le(5) + b"abc", 1, "text 0 claims 5 bytes, 3 are left"),
        (le(2**32 - 1), 1, "text 0 claims 4,294,967,295 bytes, 0 are left"),
        (le(3) + b"abc" + b"\x00", 2, "the bytes end before text 1 of 2"),
        (le(1) + b"abcd", 1, "3 bytes are left after the 1 texts of shape [1]"),
        (le(2) + b"\xff\xfe", 1, "text 0 is not UTF-8"),
        (le(3) + b"\xed\xa0\x80", 1, "text 0 is not UTF-8"),
    ],
)
def test_lengths_that_do_not_add_up_are_refused(data: bytes, count: int, said: str) -> None:
    with pytest.raises(Wrong) as caught:
        unpack(memoryview(data), (count,), count)
    assert str(caught.value) == said


@given(st.binary(max_size=40), st.integers(0, 6))
def test_any_bytes_are_read_or_refused(data: bytes, count: int) -> None:
    try:
        array = unpack(memoryview(data), (count,), count)
    except Wrong:
        return
    assert pack(array) == data


def test_a_body_can_be_one_text() -> None:
    assert one_text(b"h\xc3\xa9", (1, 1)).tolist() == [["hé"]]
    with pytest.raises(Wrong, match="not UTF-8"):
        one_text(b"\xff", (1,))
