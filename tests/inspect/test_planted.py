"""Faults planted in models of a few nodes, and found by the whole of `inspect`: file, run, rules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

from hotlap.inspect import THEMES, Inspection, inspect
from tests import tiny
from tests.inspect.commands import mended_by
from tests.inspect.fusions import graphs
from tests.inspect.rules.test_half_loses_a_constant import norm as guarded
from tests.inspect.rules.test_half_overflows import norm

info, node = tiny.info, tiny.node


def stuck() -> onnx.ModelProto:
    """The example batch stands in the target of a Reshape."""
    return tiny.model(
        [node("MatMul", ["x", "w"], ["h"]), node("Reshape", ["h", "shape"], ["y"], name="reshape")],
        [info("x", T.FLOAT, ["batch", 8])],
        [info("y", T.FLOAT, ["batch", 2, 4])],
        {"w": np.eye(8, dtype=np.float32), "shape": np.array([1, 2, 4])},
    )


def declared_wrong() -> onnx.ModelProto:
    """The target shape comes from a caller's values, so ORT cannot tell before it runs."""
    return tiny.model(
        [
            node("NonZero", ["x"], ["places"]),
            node("Transpose", ["places"], ["y"], name="turn", perm=[1, 0]),
        ],
        [info("x", T.FLOAT, ["n", 4])],
        [info("y", T.INT64, ["n", 7])],
    )


def nan_weights() -> onnx.ModelProto:
    made = tiny.mlp()
    (weight,) = (w for w in made.graph.initializer if w.name == "w1")
    values = onnx.numpy_helper.to_array(weight).copy()
    values[0, 0] = np.nan
    weight.CopyFrom(onnx.numpy_helper.from_array(values, "w1"))
    return made


def full_8_bit() -> onnx.ModelProto:
    return tiny.model(
        [node("MatMulInteger", ["a", "w"], ["y"], name="product")],
        [info("a", T.UINT8, ["n", 64])],
        [info("y", T.INT32, ["n", 8])],
        {"w": np.full((64, 8), 127, np.int8)},
    )


def with_opset(version: int) -> onnx.ModelProto:
    made = tiny.add()
    made.opset_import[0].version = version
    return made


def with_ir(version: int) -> onnx.ModelProto:
    made = tiny.add()
    made.ir_version = version
    return made


def unknown_operator() -> onnx.ModelProto:
    row = [info("x", T.FLOAT, ["n"])], [info("y", T.FLOAT, ["n"])]
    return tiny.model([node("Ad", ["x", "x"], ["y"])], *row)


def external(location: str) -> onnx.ModelProto:
    """Weights that lie, or do not lie, in a file beside the model."""
    made = tiny.mlp()
    weight = made.graph.initializer[0]
    weight.ClearField("raw_data")
    weight.data_location = T.EXTERNAL
    weight.external_data.add(key="location", value=location)
    return made


def no_maker() -> onnx.ModelProto:
    return tiny.model(
        [node("Add", ["x", "ghost"], ["y"])], [info("x", T.FLOAT, ["n"])], [info("y", T.FLOAT, ["n"])]
    )


def made_twice() -> onnx.ModelProto:
    return tiny.model(
        [node("Neg", ["x"], ["y"]), node("Abs", ["x"], ["y"])],
        [info("x", T.FLOAT, ["n"])],
        [info("y", T.FLOAT, ["n"])],
    )


def four_bits() -> onnx.ModelProto:
    return tiny.model(
        [node("Identity", ["x"], ["y"])], [info("x", T.INT4, ["n"])], [info("y", T.INT4, ["n"])], opset=21
    )


HALF_300 = [{"x": np.full((2, 8), 300, np.float16)}]
PLANTED: list[tuple[str, Callable[[], onnx.ModelProto], dict[str, Any]]] = [
    ("HL101", stuck, {}),
    ("HL104", declared_wrong, {}),
    ("HL204", norm, {"data": HALF_300}),
    ("HL205", lambda: guarded(np.array([1e-12], np.float16)), {}),
    ("HL207", nan_weights, {}),
    ("HL208", full_8_bit, {"target_cpu": "avx2"}),
    ("HL301", lambda: with_opset(999), {}),
    ("HL302", lambda: with_ir(99), {}),
    ("HL303", unknown_operator, {}),
    ("HL305", lambda: external("weights.bin"), {}),
    ("HL307", lambda: external("/etc/hostname"), {}),
    ("HL411", no_maker, {}),
    ("HL412", made_twice, {}),
    ("HL501", tiny.mlp, {"providers": ("tensorrt", "cpu")}),
    ("HL502", four_bits, {}),
]


def look(made: onnx.ModelProto, folder: Path, **asked: Any) -> Inspection:
    """What is found; every command that it names is one."""
    found = inspect(tiny.save(made, folder / "planted.onnx"), **asked)
    mended_by(found.findings)
    return found


@pytest.mark.parametrize(("code", "make", "asked"), PLANTED, ids=[p[0] for p in PLANTED])
def test_a_planted_error_is_an_error(
    code: str, make: Callable[[], onnx.ModelProto], asked: dict[str, Any], tmp_path: Path
) -> None:
    found = look(make(), tmp_path, **asked).findings
    assert code in {f.code for f in found if f.severity == "error"}, found


def test_every_theme_has_two_or_more_of_them() -> None:
    codes = [code for code, _, _ in PLANTED]
    assert len(set(codes)) >= 10
    assert {theme: sum(c.startswith(theme) for c in codes) >= 2 for theme in THEMES} == dict.fromkeys(
        THEMES, True
    )


STEP, TARGET = graphs.reshape("h", -1, 16)
BLOCKERS = {
    "second reader": (graphs.conv_batchnorm().read("c"), "HL511"),
    "graph output in between": (graphs.conv_activation().out("c"), "HL512"),
    "non-constant weight": (graphs.conv_batchnorm().asked("scale"), "HL511"),
    "wrong dtype": (graphs.gelu().of(np.float16), "HL516"),
    "shape operator in between": (graphs.matmul_add().between("h", "add", STEP, **TARGET), "HL513"),
    "opset too low": (graphs.attention(opset=8), "HL517"),
}


@pytest.mark.parametrize("blocker", BLOCKERS)
def test_a_planted_blocker_is_named(blocker: str, tmp_path: Path) -> None:
    parts, code = BLOCKERS[blocker]
    messages = [f.message for f in look(parts.model(), tmp_path).findings if f.code == code]
    assert len(messages) == 1 and f": {blocker}: " in messages[0], messages


def test_a_sound_model_has_no_finding(tmp_path: Path) -> None:
    found = look(tiny.mlp(), tmp_path)
    assert found.ran and found.findings == ()
