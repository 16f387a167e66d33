from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest

import hotlap
from hotlap.errors import InputError
from hotlap.runtime import FakeRunner
from hotlap.runtime.arrays import as_arrays
from hotlap.runtime.copies import Copies
from hotlap.runtime.signature import SMALL_INPUT
from hotlap.tensors import TensorSpec
from tests import tiny
from tests.runtime.layouts import LAYOUTS

T = onnx.TensorProto
X = TensorSpec.of("x", "float32", ["N", "M"])


def one(value: Any, spec: TensorSpec = X, **arguments: Any) -> Any:
    return as_arrays([spec], {spec.name: value}, **arguments)[spec.name]


def problem(value: Any, spec: TensorSpec = X, **arguments: Any) -> str:
    with pytest.raises(InputError) as caught:
        one(value, spec, **arguments)
    return str(caught.value)


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_every_layout_comes_out_whole_and_is_copied_only_where_it_must(layout: str) -> None:
    copies = Copies()
    array = LAYOUTS[layout](np.arange(40_000, dtype=np.float32).reshape(200, 200))
    made = one(array, copies=copies)
    assert type(made) is np.ndarray and (made == array).all()
    assert made.flags.c_contiguous and made.flags.aligned
    if layout in ("C", "read-only", "subclass"):
        assert made.ctypes.data == array.ctypes.data, "no copy"
        assert copies.seen() == {}
    else:
        reason = "unaligned" if layout == "unaligned" else "non-contiguous"
        assert copies.seen() == {"x": {reason: 1}}


def test_a_small_array_is_copied_in_any_case_so_its_layout_is_not_counted() -> None:
    copies = Copies()
    small = np.ones((4, SMALL_INPUT // 16), np.float32)
    one(np.asfortranarray(small), copies=copies)
    assert copies.seen() == {}
    one(np.asfortranarray(np.vstack([small, small])), copies=copies)
    assert copies.seen() == {"x": {"non-contiguous": 1}}


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "i4", "i2", "u8", "u4", "u2"])
def test_foreign_byte_order_is_made_native(dtype: str) -> None:
    native = np.array([[0, 1, 2, 100]], f"<{dtype}")
    spec = TensorSpec.of("x", native.dtype.name, ["N", 4])
    copies = Copies()
    made = one(native.astype(f">{dtype}"), spec, copies=copies)
    assert made.tolist() == [[0, 1, 2, 100]] and made.dtype.isnative
    assert copies.seen() == {"x": {"byte order": 1}}


def test_the_same_type_under_another_name_is_the_same_type() -> None:
    spec = TensorSpec.of("x", "int64", ["N"])
    for dtype in (np.longlong, np.int64, np.dtype(np.int64, metadata={"unit": "m"})):
        array = np.arange(3, dtype=dtype)
        made = one(array, spec)
        assert made.dtype is np.dtype(np.int64) and made.ctypes.data == array.ctypes.data


def test_casts_that_lose_nothing_are_made_only_when_asked_for() -> None:
    copies = Copies()
    for dtype in (np.float16, np.int16, np.uint8, np.bool_):
        value = np.ones((1, 2), dtype)
        assert "got" in problem(value)
        assert one(value, cast=True, copies=copies).dtype == np.float32
    assert copies.seen() == {"x": {"cast": 4}}
    for dtype in (np.float64, np.int32, np.complex64):
        assert f"got {np.dtype(dtype).name}, expected float32" in problem(np.ones((1, 2), dtype), cast=True)


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (np.ma.masked_array([[1.0]], mask=[[True]], dtype=np.float32), "masked array"),
        (np.array([["a"]]), "got str"),
        (np.array([[object()]]), "got object"),
        (np.array([["2020-01-01"]], "datetime64[D]"), "got datetime64"),
        (np.array([[(1, 2)]], [("a", "f4"), ("b", "f4")]), "got"),
        (np.array([["a"]], np.dtypes.StringDType()), "got"),
        ("text", "got str"),
        ({"a": 1}, "got dict"),
        (None, "None given"),
        ([[1.0], [2.0, 3.0]], "not an array"),
    ],
)
def test_what_is_no_such_array_is_refused_by_name(value: Any, word: str) -> None:
    assert word in problem(value)


# ── text ──────────────────────────────────────────────────────────────────────────────────────────────

WORDS = TensorSpec.of("w", "string", ["N"])
STRINGS = np.dtypes.StringDType()


@pytest.mark.parametrize(
    "value",
    [
        np.array(["abcd", "é"]),
        np.array(["abcd", "é"], object),
        np.array(["abcd", "é"], STRINGS),
        np.array([b"abcd", "é".encode()]),
        np.array([b"abcd", "é".encode()], object),
        np.array(["abcd", "é"], ">U9"),
        np.array(["abcd", "-", "é", "-"])[::2],
        np.array([np.str_("abcd"), np.bytes_("é".encode())], object),
        ["abcd", "é"],
        ("abcd", "é".encode()),
    ],
    ids=lambda v: f"{type(v).__name__} {getattr(v, 'dtype', '')}",
)
def test_text_of_every_kind_is_the_same_text(value: Any) -> None:
    made = one(value, WORDS)
    assert made.dtype == object and made.tolist() == ["abcd", "é"]
    assert all(type(cell) is str for cell in made)


def test_cells_of_fixed_width_come_back_alone(tmp_path: Path) -> None:
    """Full cells have no end mark, and ORT would read on into their neighbours."""
    runner = hotlap.open(tiny.save(tiny.text(), tmp_path / "m.onnx"))
    full = np.array([b"abcd", b"wxyz", b"1234"])
    for _ in range(3):
        assert runner(full).tolist() == ["abcd", "wxyz", "1234"]
    assert runner.copies == {"x": {"text": 3}}
    assert runner(np.array(["a\0b"], object)).tolist() == ["a\0b"]
    assert runner.path == "plain" and 'input "x" is string[N]' in runner.path.why


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (np.array([None, "a"], object), "cell [0] is NoneType"),
        (np.array(["a", 1.5], object), "cell [1] is float"),
        (np.array([b"\xff"]), "not UTF-8"),
        (np.array(["a", "\ud800"]), "cell [1] holds half of a surrogate pair"),
        (np.array([1, 2]), "cell [0] is int"),
        (np.array(["a", None], np.dtypes.StringDType(na_object=None)), "cell [1] is NoneType"),
    ],
)
def test_what_is_no_text_is_refused(value: Any, word: str) -> None:
    assert word in problem(value, WORDS)


# ── DLPack ────────────────────────────────────────────────────────────────────────────────────────────


class Lender:
    """What torch and others look like from here."""

    def __init__(self, array: Any, device: int = 1) -> None:
        self.array, self.device = array, device

    def __dlpack__(self, **arguments: Any) -> Any:
        return self.array.__dlpack__(**arguments)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0


def test_memory_of_another_library_is_read_where_it_lies() -> None:
    array = np.ones((3, 4), np.float32)
    made = one(Lender(array))
    assert made.ctypes.data == array.ctypes.data
    made = one(Lender(array.T))
    assert made.shape == (4, 3) and made.flags.c_contiguous


def test_memory_of_another_device_or_type_is_refused() -> None:
    assert "Lender on another device (DLPack type 2): bring it to the CPU" in problem(
        Lender(np.ones((1, 1), np.float32), device=2)
    )
    assert "got float64, expected float32" in problem(Lender(np.ones((1, 1))))
    assert one(Lender(np.ones((1, 1), np.float16)), cast=True).dtype == np.float32
    assert "does not lend its memory" in problem(
        SimpleNamespace(__dlpack__=lambda: 1, __dlpack_device__=lambda: (1, 0))
    )


def test_torch_tensors_go_in_and_out_without_a_copy(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed (too heavy for the tests' needs)")
    runner = hotlap.open(tiny.save(tiny.identity(T.FLOAT, ["N", "M"]), tmp_path / "m.onnx"))
    for shape in ((2, 3), (2, 3), (2, 3), (300, 300), (300, 300)):
        x = torch.rand(shape)
        assert one(x).ctypes.data == x.data_ptr()
        assert torch.equal(torch.from_numpy(runner(x)), x)
        assert torch.equal(torch.from_numpy(runner(x.T)), x.T)
        out = torch.zeros(shape)
        result = runner.run({"x": x}, out={"y": out})["y"]
        assert result is out and torch.equal(out, x)
        answer = runner.run_dlpack({"x": x})["y"]
        y = torch.from_dlpack(answer)
        assert torch.equal(y, x) and y.data_ptr() == answer.data_ptr() != x.data_ptr()
    assert "detach" in problem(torch.ones(1, 1, requires_grad=True))


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_torch_types_that_numpy_lacks(tmp_path: Path, name: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed (too heavy for the tests' needs)")
    pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    onnx_type = {"bfloat16": T.BFLOAT16, "float8_e4m3fn": T.FLOAT8E4M3FN, "float8_e5m2": T.FLOAT8E5M2}[name]
    built = tiny.identity(onnx_type, ["N", "M"], opset=21)
    built.ir_version = 10
    runner = hotlap.open(tiny.save(built, tmp_path / "m.onnx"), warm=False)
    x = torch.arange(6).reshape(2, 3).to(getattr(torch, name))
    y = torch.from_dlpack(runner.run_dlpack({"x": x})["y"])
    assert y.dtype == x.dtype and torch.equal(y.float(), x.float())
    assert runner(x).astype(np.float32).tolist() == [[0, 1, 2], [3, 4, 5]]
    out = torch.zeros(2, 3).to(x.dtype)
    runner.run({"x": x}, out={"y": out})
    assert torch.equal(out.float(), x.float())
    with pytest.raises(InputError, match="shares memory with input"):
        runner.run({"x": x}, out={"y": x})
    with pytest.raises(InputError, match="does not lend its memory"):
        runner.run({"x": x.T})
    with pytest.raises(InputError, match=r"got Tensor of tensor\(float\)"):
        runner.run({"x": torch.zeros(2, 3)})


# ── sequences, optionals, and what cannot be fed ──────────────────────────────────────────────────────


def test_a_sequence_is_a_list_of_arrays_each_checked(tmp_path: Path) -> None:
    part = onnx.helper.make_tensor_type_proto(T.FLOAT, ["N"])
    sequence = onnx.helper.make_value_info("x", onnx.helper.make_sequence_type_proto(part))
    built = tiny.model(
        [tiny.node("ConcatFromSequence", ["x"], ["y"], axis=0)], [sequence], [tiny.info("y", T.FLOAT, ["M"])]
    )
    runner = hotlap.open(tiny.save(built, tmp_path / "m.onnx"), warm=False)
    a, b = np.ones(2, np.float32), np.array([2, 3], ">f4")
    assert runner.run({"x": [a, b]})["y"].tolist() == [1, 1, 2, 3]
    assert runner.path == "plain" and "only tensors of numbers" in runner.path.why
    with pytest.raises(InputError, match="element 1: got float64, expected float32"):
        runner.run({"x": [a, np.ones(2)]})
    with pytest.raises(InputError, match="a list of arrays"):
        runner.run({"x": a})


def test_an_optional_input_may_be_left_out(tmp_path: Path) -> None:
    part = onnx.helper.make_tensor_type_proto(T.FLOAT, ["N"])
    optional = onnx.helper.make_value_info("x", onnx.helper.make_optional_type_proto(part))
    built = tiny.model(
        [tiny.node("OptionalHasElement", ["x"], ["y"])], [optional], [tiny.info("y", T.BOOL, [])], opset=18
    )
    runner = hotlap.open(tiny.save(built, tmp_path / "m.onnx"), warm=False)
    assert runner.run({"x": np.ones(2, np.float32)})["y"]
    assert not runner.run({"x": None})["y"]
    assert not runner.run({})["y"]
    with pytest.raises(InputError, match="got float64"):
        runner.run({"x": np.ones(2)})


def test_maps_and_sparse_tensors_cannot_be_fed_from_python() -> None:
    for kind in ("map(string,tensor(float))", "sparse_tensor(float)", "seq(map(int64,tensor(float)))"):
        assert f"{kind} cannot be fed" in problem({}, TensorSpec("x", kind))


def test_a_fake_takes_all_of_it_too() -> None:
    fake = FakeRunner([X], [X], answer=lambda feed: {"x": feed["x"]})
    array = np.ones((2, 3), ">f4")
    assert fake.run({"x": Lender(array.astype("f4"))})["x"].tolist() == [[1] * 3] * 2
    assert fake.run({"x": array})["x"].dtype.isnative
    assert fake.copies == {"x": {"byte order": 1}}
