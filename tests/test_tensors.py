from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hotlap.errors import InputError
from hotlap.tensors import DTYPES, TensorSpec, check_feed, nearest
from tests import tiny

of = TensorSpec.of
FED = [d for d in DTYPES if d.numpy is not None and d.name != "string"]


def problems(specs: list[TensorSpec], feed: Any) -> list[str]:
    with pytest.raises(InputError) as caught:
        check_feed(specs, feed)
    assert str(caught.value) == "\n".join(caught.value.problems)
    return caught.value.problems


def problem(spec: TensorSpec, value: Any) -> str:
    (line,) = problems([spec], {spec.name: value})
    return line


# ── the table of element types ────────────────────────────────────────────────────────────────────────


def test_the_table_agrees_with_onnx() -> None:
    known = {d.onnx: d for d in DTYPES}
    for number in set(onnx.TensorProto.DataType.values()) - {onnx.TensorProto.UNDEFINED}:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(number)
        assert known[number].name == ("string" if dtype.hasobject else str(dtype))
        assert known[number].numpy in (None, dtype)


def test_the_table_agrees_with_onnxruntimes_words() -> None:
    # onnxruntime knows no complex numbers, and types of fewer than 8 bits only in other operators.
    for d in (d for d in FED if "complex" not in d.name):
        session = onnxruntime.InferenceSession(tiny.identity(d.onnx).SerializeToString())
        assert session.get_inputs()[0].type == d.ort


# ── specs ─────────────────────────────────────────────────────────────────────────────────────────────


def test_axes_that_nobody_named_need_not_be_equal() -> None:
    spec = TensorSpec.declared("x", "tensor(float)", ["", "?", " ", -1, None, "n", 3])
    assert spec.shape == (None, None, None, None, None, "n", 3)


@pytest.mark.parametrize(
    ("spec", "label"),
    [
        (of("x", "float32", ["batch", 3, None]), "float32[batch, 3, ?]"),
        (of("x", "int64", []), "int64[]"),
        (TensorSpec("x", "seq(tensor(float))"), "seq(tensor(float))"),
        (TensorSpec.declared("x", "tensor(float)", None), "float32[...]"),
    ],
)
def test_a_label_is_for_people(spec: TensorSpec, label: str) -> None:
    assert spec.label == label


def test_an_unknown_dtype_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        of("x", "float31", [])


def test_the_nearest_word_ignores_case_and_may_be_none() -> None:
    assert nearest("IDS", ["ids", "mask"]) == ' (did you mean "ids"?)'
    assert nearest("attention", ["x", "y"]) == ""


# ── what passes ───────────────────────────────────────────────────────────────────────────────────────


@given(st.data())
def test_a_right_array_passes_as_it_is(data: st.DataObject) -> None:
    d = data.draw(st.sampled_from(FED))
    array = data.draw(hnp.arrays(d.numpy, hnp.array_shapes(min_dims=0, min_side=0)))
    assert check_feed([of("x", d.name, [None] * array.ndim)], {"x": array})["x"] is array


@given(st.data())
def test_foreign_byte_order_becomes_native_with_the_same_values(data: st.DataObject) -> None:
    d = data.draw(st.sampled_from([d for d in FED if d.bits > 8]))
    no_nan = d.is_float or d.name.startswith("complex")  # NaN equals nothing
    array = data.draw(hnp.arrays(d.numpy, 3, elements={"allow_nan": False} if no_nan else None))
    foreign = array.astype(array.dtype.newbyteorder("S"))
    checked = check_feed([of("x", d.name, [3])], {"x": foreign})["x"]
    assert checked.dtype.isnative
    assert checked.tobytes() == array.tobytes()


@pytest.mark.parametrize(
    "layout",
    [
        lambda a: a.T,
        lambda a: a[::-1],
        lambda a: a[:, ::2],
        np.asfortranarray,
        lambda a: np.broadcast_to(a[:1], a.shape),
    ],
)
def test_layouts_of_memory_pass_as_they_are(layout: Any) -> None:
    array = layout(np.arange(16, dtype=np.float32).reshape(4, 4))
    assert check_feed([of("x", "float32", [None, None])], {"x": array})["x"] is array


def test_c_types_of_equal_size_are_equal() -> None:
    array = np.array([1, 2], np.longlong)
    checked = check_feed([of("x", "int64", ["n"])], {"x": array})["x"]
    session = onnxruntime.InferenceSession(tiny.identity(onnx.TensorProto.INT64).SerializeToString())
    assert session.run(None, {"x": checked})[0].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("float32", [1, 2.5], [1, 2.5]),
        ("int64", [True, 2], [1, 2]),
        ("uint8", [0, 255], [0, 255]),
        ("int8", [-128, 127], [-128, 127]),
        ("bool", [True, False], [True, False]),
        ("complex64", [1, 2j], [1, 2j]),
        ("float16", [float("nan"), float("inf")], [float("nan"), float("inf")]),
        ("float32", [16777216, -(2**62), 0.1], [16777216, -(2**62), 0.1]),
        ("float32", [2**40, -16777218], [2**40, -16777218]),
        ("float64", [2**63, 2**53], [2**63, 2**53]),
        ("int32", [], []),
    ],
)
def test_lists_take_the_models_type_where_no_value_is_lost(
    dtype: str, value: list[Any], expected: list[Any]
) -> None:
    array = check_feed([of("x", dtype, ["n"])], {"x": value})["x"]
    assert str(array.dtype) == dtype
    assert np.array_equal(array, np.array(expected, dtype), equal_nan=dtype == "float16")


def test_a_number_is_a_scalar() -> None:
    assert check_feed([of("x", "float32", [])], {"x": 2})["x"].shape == ()


class ArrayLike:
    def __init__(self, array: Any) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.array


def test_what_numpy_can_read_is_held_to_its_type() -> None:
    right = ArrayLike(np.ones(2, np.float32))
    assert check_feed([of("x", "float32", [2])], {"x": right})["x"].tolist() == [1, 1]
    assert "got ArrayLike of float64" in problem(of("x", "float32", [2]), ArrayLike(np.ones(2)))


def test_the_arrays_come_in_the_models_order() -> None:
    specs = [of("a", "float32", []), of("b", "float32", [])]
    assert list(check_feed(specs, {"b": 1, "a": 2})) == ["a", "b"]


def test_an_input_of_unknown_rank_takes_any_shape() -> None:
    spec = TensorSpec.declared("x", "tensor(float)", None)
    for shape in ((), (1,), (2, 3)):
        assert check_feed([spec], {"x": np.ones(shape, np.float32)})["x"].shape == shape


# ── text ──────────────────────────────────────────────────────────────────────────────────────────────

TEXT = of("x", "string", ["n"])


@pytest.mark.parametrize(
    "value",
    [
        ["ab", "ä"],
        np.array(["ab", "ä"]),
        np.array(["ab", "ä"], object),
        [b"ab", "ä".encode()],
        np.array([b"ab", "ä".encode()]),
        np.array(["ab", "ä"], np.dtypes.StringDType()),
    ],
)
def test_text_of_every_kind_becomes_str(value: Any) -> None:
    array = check_feed([TEXT], {"x": value})["x"]
    assert array.dtype == object
    assert array.tolist() == ["ab", "ä"]
    assert {type(cell) for cell in array} == {str}


def test_what_is_no_text_is_refused_with_its_place() -> None:
    assert "cell [1] is NoneType, expected string[n]" in problem(TEXT, ["a", None])
    assert "cell [0] is int" in problem(TEXT, [1])
    assert "cell [0] holds bytes that are not UTF-8" in problem(TEXT, [b"\xff"])


# ── what is refused ───────────────────────────────────────────────────────────────────────────────────

IDS, MASK = of("ids", "int64", ["B", "L"]), of("mask", "int64", ["B", "L"])
ONES = np.ones((1, 4), np.int64)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            {"ids": ONES.astype(np.int32)},
            'input "ids": got int32, expected int64; convert it with .astype("int64")',
        ),
        (
            {"mask": ONES.astype(np.float64)},
            'input "mask": got float64, expected int64; convert it with .astype("int64")',
        ),
        (
            {"mask": ONES.astype(bool)},
            'input "mask": got bool, expected int64; convert it with .astype("int64")',
        ),
        (
            {"ids": ONES[0]},
            'input "ids": got 1 axes [4], expected 2: int64[B, L]; the leading axis is missing: add it with '
            "array[None]",
        ),
        (
            {"token_type_ids": ONES},
            'input "token_type_ids": the model has no input of that name; it takes ids, mask',
        ),
        ({"mask": ONES[:, :3]}, 'input "mask": axis 1 ("L") has size 3, but "ids" axis 1 gave "L" = 4'),
        ({"mask": None}, 'input "mask": None given, expected int64[B, L]'),
        ({"ids": [["a"]]}, 'input "ids": got list of str32, expected int64[B, L]'),
        ({"ids": [[1.5]], "mask": [[1]]}, 'input "ids": got list of float64, expected int64[B, L]'),
        (
            {"ids": np.ma.array(ONES, mask=[[1, 0, 0, 0]])},
            'input "ids": masked array given: its mask would be lost; fill it first with .filled(value)',
        ),
    ],
)
def test_everyday_mistakes_name_the_input_and_the_remedy(change: dict[str, Any], line: str) -> None:
    assert problems([IDS, MASK], {"ids": ONES, "mask": ONES, **change}) == [line]


def test_a_missing_input_is_named() -> None:
    assert problems([IDS, MASK], {"ids": ONES}) == ['input "mask": missing from the feed']


def test_a_wrong_name_is_told_with_the_missing_one_that_it_resembles() -> None:
    assert problems([IDS, MASK], {"IDs": ONES, "mask": ONES}) == [
        'input "IDs": the model has no input of that name (did you mean "ids"?); it takes ids, mask',
        'input "ids": missing from the feed',
    ]


def test_all_problems_come_at_once() -> None:
    assert len(problems([IDS, MASK], {"ids": ONES.astype(np.int32), "mask": ONES[0], "extra": 1})) == 3


def test_a_fixed_axis_must_have_its_size() -> None:
    assert problem(of("x", "float32", ["N", 4]), np.ones((2, 5), np.float32)) == (
        'input "x": axis 1 has size 5, expected 4: float32[N, 4]'
    )


def test_equal_symbols_within_one_input_are_equal_sizes() -> None:
    assert 'axis 1 ("n") has size 3' in problem(of("x", "float32", ["n", "n"]), np.ones((2, 3), np.float32))


@pytest.mark.parametrize(
    ("dtype", "value", "line"),
    [
        ("uint8", [256], "holds values outside uint8 (0 to 255)"),
        ("uint8", [-1], "holds values outside uint8 (0 to 255)"),
        ("int64", [2**63], "holds values outside int64"),
        ("int64", [2**70], "got list of object"),
        ("float16", [70000], "holds values outside float16 (up to 65504)"),
        ("float16", [7e4], "holds values outside float16 (up to 65504)"),
        ("float32", [1e300], "holds values outside float32"),
        ("float32", [16777217], "holds integers that float32 rounds: 16777217"),
        ("float64", [0, -(2**53) - 1], "holds integers that float64 rounds: -9007199254740993"),
        ("float64", [2**64 - 1], "holds integers that float64 rounds"),
        ("float16", [[2049]], "holds integers that float16 rounds: 2049"),
        ("complex64", [16777217], "holds integers that complex64 rounds"),
        ("float32", [1j], "got list of complex128"),
        ("bool", [2], "got list of int64"),
        ("float32", [[1], [1, 2]], "not an array"),
        ("float32", {"a": 1}, "got dict of object"),
        ("float32", object(), "got object of object"),
    ],
)
def test_lists_that_would_lose_a_value_are_refused(dtype: str, value: Any, line: str) -> None:
    assert line in problem(of("x", dtype, ["n"]), value)


@pytest.mark.parametrize("type_", ["seq(tensor(float))", "optional(tensor(float))", "tensor(bfloat16)"])
def test_types_that_numpy_has_not_are_refused(type_: str) -> None:
    assert "cannot be fed as an array" in problem(TensorSpec("x", type_), [1])


@pytest.mark.parametrize("feed", [None, [1, 2], np.ones(3), "x"])
def test_a_feed_that_is_no_dict_is_told(feed: Any) -> None:
    (line,) = problems([IDS], feed)
    assert line.startswith(
        f"the feed is {type(feed).__name__}, expected a dict of input name to array; inputs: ids"
    )


@given(
    st.dictionaries(
        st.sampled_from(["ids", "mask", "x"]),
        st.one_of(
            st.none(), st.integers(), st.floats(), st.text(), st.binary(), st.lists(st.integers()),
            hnp.arrays(hnp.scalar_dtypes(), hnp.array_shapes()),
        ),
    )
)  # fmt: skip
def test_no_feed_raises_anything_else(feed: dict[str, Any]) -> None:
    try:
        check_feed([IDS, MASK], feed)
    except InputError as error:
        assert error.problems


def test_a_million_wrong_names_get_a_short_answer() -> None:
    specs = [TensorSpec.of(f"i{n}", "float32", [1]) for n in range(1000)]
    with pytest.raises(InputError) as caught:
        check_feed(specs, {f"j{n}": 1.0 for n in range(100_000)})
    assert "and 99,936 more names that the model does not have" in caught.value.problems
    assert len(str(caught.value)) < 100_000
