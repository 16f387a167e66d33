from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import hotlap
from hotlap.errors import InputError, ModelError, Unavailable
from hotlap.runtime import Runner
from hotlap.runtime.packed import _pack, _unpack
from hotlap.tensors import DTYPES
from tests import tiny

ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes gives numpy these types; it is not installed")
T = onnx.TensorProto
KINDS = {d.name: d for d in DTYPES}
# What the CPU provider can read, write, or neither; the rest is refused when the model is loaded.
READS = (
    "bfloat16",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "int4",
    "uint4",
)
WRITES = (*READS, "int2", "uint2")
NEITHER = ("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "complex64", "complex128")


def caster(folder: Path, source: str, target: str) -> Runner:
    built = tiny.model(
        [tiny.node("Cast", ["x"], ["y"], to=KINDS[target].onnx)],
        [tiny.info("x", KINDS[source].onnx, ["N", "M"])],
        [tiny.info("y", KINDS[target].onnx, ["N", "M"])],
        opset=25,
    )
    built.ir_version = 13
    if "float8_e8m0fnu" in (source, target) and _version() < (1, 32):
        pytest.skip(f"onnxruntime {onnxruntime.__version__} has no float8_e8m0fnu")
    return hotlap.open(tiny.save(built, folder / "m.onnx"), warm=False)


def _version() -> tuple[int, ...]:
    return tuple(map(int, onnxruntime.__version__.split(".")[:2]))


def numbers(name: str) -> Any:
    if name.endswith(("int4", "int2")):
        low, high = {"int4": (-8, 8), "uint4": (0, 16), "int2": (-2, 2), "uint2": (0, 4)}[name]
        cells = list(range(low, high))
        return np.array(cells[: len(cells) // 3 * 3], np.float32).reshape(3, -1)
    if name == "float8_e8m0fnu":  # powers of two alone
        return np.array([[1, 2, 4], [0.5, 8, 1]], np.float32)
    return np.array([[1, 2.5, -3], [0, 0.5, 8]], np.float32)


@pytest.mark.parametrize("name", READS)
def test_it_goes_in(tmp_path: Path, name: str) -> None:
    runner = caster(tmp_path, name, "float32")
    x = numbers(name).astype(getattr(ml_dtypes, name))
    before = x.tobytes()
    for _ in range(3):
        assert runner(x).tolist() == numbers(name).tolist()
    assert runner(np.asfortranarray(x)).tolist() == numbers(name).tolist()
    assert runner(x[:0]).shape == (0, x.shape[1])
    assert x.tobytes() == before
    assert runner.copies == ({"x": {"packed": 4}} if name.endswith("int4") else {})
    with pytest.raises(InputError, match=f"numpy alone has no {name}; feed an array of ml_dtypes"):
        runner([[1, 2]])
    with pytest.raises(InputError, match=f"got float32, expected {name}"):
        runner(numbers(name))


@pytest.mark.parametrize("name", WRITES)
def test_it_comes_out(tmp_path: Path, name: str) -> None:
    runner = caster(tmp_path, "float32", name)
    for _ in range(3):
        y = runner(numbers(name))
        assert y.dtype == getattr(ml_dtypes, name)
        assert y.astype(np.float32).tolist() == numbers(name).tolist()
    assert runner(np.zeros((0, 3), np.float32)).shape == (0, 3)


@pytest.mark.parametrize("name", NEITHER)
def test_what_the_cpu_has_no_kernels_for_is_refused_when_the_model_is_loaded(
    tmp_path: Path, name: str
) -> None:
    for source, target in ((name, "float32"), ("float32", name)):
        with pytest.raises(ModelError, match="does not load it"):
            caster(tmp_path, source, target)


def test_without_ml_dtypes_an_answer_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = caster(tmp_path, "float32", "bfloat16")
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(
        Unavailable, match=r'output "y" is bfloat16.*pip install ml-dtypes, or take the answer'
    ):
        runner(np.ones((1, 1), np.float32))
    if hasattr(onnxruntime.OrtValue, "__dlpack__"):
        assert runner.run_dlpack({"x": np.ones((1, 1), np.float32)})["y"].shape() == [1, 1]


def test_four_and_two_bits_lie_lowest_first() -> None:
    assert _pack(np.array([1, 2, 3], np.uint8), 4).tolist() == [0x21, 0x03]
    assert _pack(np.array([1, 2, 3, 0, 2], np.uint8), 2).tolist() == [0b00111001, 0b10]
    assert _unpack(np.array([0x21, 0x0F], np.uint8), KINDS["uint4"], 3).tolist() == [1, 2, 15]
    assert _unpack(np.array([0x8F], np.uint8), KINDS["int4"], 2).view(np.int8).tolist() == [-1, -8]
    assert _unpack(np.array([0b10], np.uint8), KINDS["int2"], 1).view(np.int8).tolist() == [-2]


def test_foreign_byte_order_of_such_a_type_is_refused(tmp_path: Path) -> None:
    runner = caster(tmp_path, "bfloat16", "float32")
    foreign = np.ones((1, 1), np.dtype(ml_dtypes.bfloat16).newbyteorder(">"))
    if foreign.dtype.isnative:
        pytest.skip("this ml_dtypes has no arrays of foreign byte order")
    with pytest.raises(InputError, match="foreign byte order"):
        runner(foreign)


def test_a_state_and_a_pass_through_of_such_a_type(tmp_path: Path) -> None:
    built = tiny.model(
        [tiny.node("Identity", ["s"], ["s_next"]), tiny.node("Cast", ["x"], ["y"], to=T.BFLOAT16)],
        [tiny.info("x", T.FLOAT, ["N"]), tiny.info("s", T.BFLOAT16, [2])],
        [
            tiny.info("y", T.BFLOAT16, ["N"]),
            tiny.info("s_next", T.BFLOAT16, [2]),
            tiny.info("s", T.BFLOAT16, [2]),
        ],
    )
    runner = hotlap.open(tiny.save(built, tmp_path / "m.onnx"), warm=False)
    s = np.array([1, 2], ml_dtypes.bfloat16)
    result = runner.run({"x": np.ones(3, np.float32), "s": s})
    assert result["s"].tolist() == result["s_next"].tolist() == [1, 2]
    assert not np.shares_memory(result["s"], s)
