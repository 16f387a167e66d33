from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hotlap.wire.numbers import Numbers, is_nested
from hotlap.wire.problems import Wrong
from tests.wire import made

KINDS = [n for n in made.CARRIED if n != "string"]


def numbers(name: str) -> Numbers:
    return Numbers(made.CARRIED[name], made.numpy_of(name))


def read(name: str, text: str, shape: tuple[int, ...]) -> Any:
    return numbers(name).read(text.encode(), shape, math.prod(shape))


def refused(name: str, text: str, shape: tuple[int, ...]) -> str:
    with pytest.raises(Wrong) as caught:
        read(name, text, shape)
    return str(caught.value)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3), (2, 1, 3), (0,), (2, 0), (0, 2), (2, 0, 3)])
def test_flat_and_nested_lists_become_the_same_array(name: str, shape: tuple[int, ...]) -> None:
    array = made.values(name, shape)
    plain = array.astype(np.float64) if name == "bfloat16" else array
    assert made.same(read(name, json.dumps(plain.ravel().tolist()), shape), array)
    if shape:
        assert made.same(read(name, json.dumps(plain.tolist()), shape), array)
        assert made.same(read(name, json.dumps(plain.tolist(), indent=2), shape), array)
    assert made.same(numbers(name).convert(plain.ravel().tolist(), shape, array.size), array)


@given(data=st.data())
def test_whatever_is_written_is_read_back_bit_by_bit(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([k for k in KINDS if k != "bfloat16"]))
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    floats = {"allow_nan": False, "allow_infinity": False} if made.CARRIED[name].is_float else {}
    array = data.draw(hnp.arrays(made.numpy_of(name), shape, elements=floats or None))
    assert made.same(numbers(name).read(numbers(name).write(array), shape, array.size), array)


def test_every_bfloat16_is_written_and_read_back() -> None:
    every = np.arange(2**16, dtype=np.uint16).view(made.numpy_of("bfloat16"))
    with np.errstate(invalid="ignore"):
        array = every[np.isfinite(every)]
    assert b"NaN" in numbers("bfloat16").write(every)
    text = numbers("bfloat16").write(array)
    assert made.same(numbers("bfloat16").read(text, array.shape, array.size), array)


@pytest.mark.parametrize("layout", ["F", "strided"])
def test_rows_are_written_in_order_whatever_the_layout(layout: str) -> None:
    array = np.arange(12, dtype=np.int32).reshape(3, 4)
    other = np.asfortranarray(array) if layout == "F" else np.repeat(array, 2, axis=1)[:, ::2]
    assert json.loads(numbers("int32").write(other)) == list(range(12))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("uint8", "[256]", "data[0]: expected int <= 255 (UINT8)"),
        ("uint8", "[-1]", "data[0]: expected int >= 0 (UINT8)"),
        ("int8", "[-129]", "data[0]: expected int >= -128 (INT8)"),
        ("int32", "[2147483648]", "data[0]: expected int <= 2147483647 (INT32)"),
        ("int64", "[9223372036854775808]", "data[0]: expected int <= 9223372036854775807 (INT64)"),
        ("uint64", "[18446744073709551616]", "data holds a number outside UINT64"),
        ("int32", "[1.0]", "data[0]: expected int, got float (INT32)"),
        ("int32", "[true]", "data[0]: expected int, got bool (INT32)"),
        ("int32", '["1"]', "data[0]: expected int, got str (INT32)"),
        ("bool", "[1]", "data[0]: expected bool, got int (BOOL)"),
        ("float32", "[true]", "data[0]: expected float, got bool (FP32)"),
        ("float32", "[null]", "data[0]: expected float, got null (FP32)"),
        ("float32", "[1e300]", "data[0]: expected float <= 3.4028235677973362e+38 (FP32)"),
        ("float16", "[65520]", "data[0]: expected float <= 65519.99999999999 (FP16)"),
        ("float64", "[1e999]", "data[0]: number out of range (FP64)"),
        ("float32", "1", "data: expected array, got int (FP32)"),
        ("float32", '"a"', "data: expected array, got str (FP32)"),
        ("float32", "{}", "data: expected array, got object (FP32)"),
        ("float32", "[]", "data holds 0 values, shape [1] needs 1"),
        ("float32", "[ ]", "data holds 0 values, shape [1] needs 1"),
        ("float32", "[1, 2]", "data holds 2 values, shape [1] needs 1"),
    ],
)
def test_no_value_is_changed_to_fit(name: str, text: str, said: str) -> None:
    assert refused(name, text, (1,)) == said


def test_the_last_numbers_before_infinity_are_the_largest_finite_ones() -> None:
    assert read("float32", "[3.4028235e38, -3.4028235e38]", (2,)).tolist() == [
        np.finfo(np.float32).max, np.finfo(np.float32).min,
    ]  # fmt: skip
    assert read("float16", "[65519]", (1,)).tolist() == [65504]
    assert float(read("bfloat16", "[3.3961e38]", (1,))[0]) == 2.0**128 - 2.0**120


def test_whole_numbers_beyond_the_precision_of_floats_stay_exact() -> None:
    assert read("uint64", "[18446744073709551615]", (1,)).tolist() == [2**64 - 1]
    assert read("int64", "[9007199254740993]", (1,)).tolist() == [2**53 + 1]
    assert json.loads(numbers("uint64").write(np.array([2**64 - 1], np.uint64))) == [2**64 - 1]


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("[[1,2,3],[4]]", (2, 2)),
        ("[[1,2,3,4]]", (2, 2)),
        ("[[1],[2],[3],[4]]", (2, 2)),
        ("[[[1,2],[3,4]]]", (2, 2)),
        ("[[1,2],[3,4]]", (4,)),
        ("[[1]]", ()),
        ("[[],1,2,3]", (2, 2)),
        ("[1,2,[3,4]]", (4,)),
        ('{"a":1,"b":[2,3,4]}', (4,)),
    ],
)
def test_other_nestings_than_the_shape_are_refused(text: str, shape: tuple[int, ...]) -> None:
    assert refused("float32", text, shape).startswith("data")


def test_a_shape_without_elements_takes_empty_lists_alone() -> None:
    assert refused("int8", "[1]", (0,)) == "data holds values, shape [0] has none"
    assert refused("int8", '{"a":[]}', (0,)) == "data holds values, shape [0] has none"


def test_a_million_empty_lists_are_counted_not_made() -> None:
    text = "[" + "[]," * 10**6 + "[]]"
    said = "data is nested otherwise than shape [1, 1000001] says"
    assert refused("float32", text, (1, 1_000_001)) == said


def test_infinities_and_nan_are_written_as_words_and_read_from_them() -> None:
    array = np.array([math.nan, math.inf, -math.inf, 1.5], np.float32)
    text = numbers("float32").write(array)
    assert text == b"[NaN,Infinity,-Infinity,1.5]"
    assert made.same(numbers("float32").convert(json.loads(text), (2, 2), 4), array.reshape(2, 2))
    nested = numbers("float16").convert([[math.nan, 1], [2, math.inf]], (2, 2), 4)
    assert nested.dtype == np.float16 and math.isnan(nested[0, 0]) and nested[1, 1] == math.inf


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("float32", [math.nan, 1e300], "data holds a number too large for FP32"),
        ("bfloat16", [math.inf, 3.3962e38], "data holds a number too large for BF16"),
        ("float32", [math.nan, 10**400], "data holds a number outside FP32"),
        ("int32", [math.nan, 1], "data[0]: expected int, got null (INT32)"),
        ("int32", [10**400, 1], "data[0]: expected int <= 2147483647 (INT32)"),
        ("bool", [0, 1], "data[0]: expected bool, got int (BOOL)"),
        ("float32", [math.nan], "data holds 1 values, shape [2] needs 2"),
        ("float32", [math.nan, True], "data: expected numbers, got bool"),
        ("float32", [math.nan, "1"], "data: expected numbers, got str"),
        ("float32", [[[math.nan]], 1], "data: expected numbers, got list"),
        ("float32", [1, [math.nan]], "data is nested unevenly, expected [2]"),
        ("float32", None, "data: expected lists of numbers"),
        ("float32", "\ud800", "data: expected lists of numbers"),
        ("int8", "\ud800", "data holds half of a surrogate pair, which is no text"),
    ],
)
def test_the_slower_way_refuses_the_same(name: str, values: Any, said: str) -> None:
    with pytest.raises(Wrong) as caught:
        numbers(name).convert(values, (2,), 2)
    assert str(caught.value) == said


def test_uneven_lists_of_the_slower_way_are_refused() -> None:
    for values in ([[math.nan, 1, 2], [3]], [[math.nan, 1, 2, 3]]):
        with pytest.raises(Wrong, match="data is nested"):
            numbers("float32").convert(values, (2, 2), 4)


@pytest.mark.parametrize(
    ("text", "nested"),
    [(b"[[1]]", True), (b"[ \n[1]]", True), (b"[1]", False), (b"[ 1]", False), (b"5", False), (b"[]", False)],
)
def test_nested_is_told_by_the_first_element(text: bytes, nested: bool) -> None:
    assert is_nested(text) is nested
