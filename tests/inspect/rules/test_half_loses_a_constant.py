"""HL205: an epsilon that half precision loses, and what becomes of the division that it guarded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

from hotlap.inspect.rules import half_loses_a_constant as rule
from tests import tiny
from tests.inspect.cases import found
from tests.inspect.runs import run, with_microsoft


def norm(eps: Any, cast: bool = False, tail: tuple[str, ...] = ("Sqrt",)) -> onnx.ModelProto:
    """y = x / sqrt(mean(x * x) + eps)."""
    nodes = [
        tiny.node("Mul", ["x", "x"], ["s"]),
        tiny.node("ReduceMean", ["s"], ["v"], axes=[1]),
        *([tiny.node("Cast", ["eps"], ["e"], to=T.FLOAT16)] if cast else []),
        tiny.node("Add", ["v", "e" if cast else "eps"], ["g"], name="guard"),
        *[tiny.node(op, ["g"], ["r"]) for op in tail],
        tiny.node("Div", ["x", "r" if tail else "g"], ["y"]),
    ]
    return tiny.model(
        nodes,
        [tiny.info("x", T.FLOAT16, ["n", 8])],
        [tiny.info("y", T.FLOAT16, ["n", 8])],
        {"eps": eps},
    )


def in_half(x: float, eps: float) -> float:
    with np.errstate(all="ignore"):
        held = np.float16(x)
        return float(held / np.sqrt(held * held + np.float16(eps)))


def test_an_epsilon_of_zero_guards_nothing(tmp_path: Path) -> None:
    assert np.float16(1e-12) == 0 and np.isnan(in_half(0, 1e-12)) and in_half(0, 1e-5) == 0
    [one] = found(rule, norm(np.array([1e-12], np.float16)), tmp_path)
    assert (one.severity, one.node, one.tensor) == ("error", 'Add "guard"', "eps")
    assert one.message.startswith("eps is 0 in float16")


def test_a_float32_epsilon_that_is_cast_is_lost_as_well(tmp_path: Path) -> None:
    [one] = found(rule, norm(np.array([1e-12], np.float32), cast=True), tmp_path)
    assert (one.severity, one.tensor) == ("error", "eps")


def test_what_a_converter_clips_to_hardly_guards(tmp_path: Path) -> None:
    [one] = found(rule, norm(np.array([6e-8], np.float16)), tmp_path)
    assert one.severity == "warning" and "6e-08 in float16" in one.message


def test_a_division_without_a_root_is_guarded_too(tmp_path: Path) -> None:
    [one] = found(rule, norm(np.float16(0), tail=()), tmp_path)
    assert one.severity == "error"


@pytest.mark.parametrize("eps", [np.array([1e-5], np.float16), np.full(8, 0.1, np.float16)])
def test_an_epsilon_that_half_precision_holds(tmp_path: Path, eps: Any) -> None:
    assert found(rule, norm(eps), tmp_path) == []


def test_a_zero_that_guards_nothing_anyway(tmp_path: Path) -> None:
    model = norm(np.float16(0), tail=("Relu",))
    model.graph.node[-1].op_type = "Mul"
    assert found(rule, model, tmp_path) == []


def test_float32_keeps_it(tmp_path: Path) -> None:
    model = norm(np.array([1e-12], np.float32))
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = T.FLOAT
    assert found(rule, model, tmp_path) == []


@pytest.mark.parametrize(
    ("op", "attributes", "severity"),
    [
        ("InstanceNormalization", {"epsilon": 1e-12}, "warning"),
        ("LayerNormalization", {"epsilon": 1e-12, "stash_type": T.FLOAT16}, "error"),
        ("LayerNormalization", {"epsilon": 1e-12}, None),
        ("LayerNormalization", {"epsilon": 1e-5, "stash_type": T.FLOAT16}, None),
        ("BatchNormalization", {}, None),
    ],
)
def test_epsilons_in_attributes(
    tmp_path: Path, op: str, attributes: dict[str, Any], severity: str | None
) -> None:
    model = tiny.model(
        [tiny.node(op, ["x", "one", "one"], ["y"], name="norm", **attributes)],
        [tiny.info("x", T.FLOAT16, ["n", 4, 4])],
        [tiny.info("y", T.FLOAT16, ["n", 4, 4])],
        {"one": np.ones(4, np.float16)},
    )
    assert [f.severity for f in found(rule, model, tmp_path)] == ([severity] if severity else [])


@pytest.mark.parametrize("op", ["SkipLayerNormalization", "SkipSimplifiedLayerNormalization", "Embed"])
def test_an_epsilon_that_is_left_out_is_what_onnx_runtime_takes(tmp_path: Path, op: str) -> None:
    row = np.array([[1, -1, 1, -1]])
    feed = {"i": np.zeros((1, 1), np.int32)}
    inputs = ["i", "", "row", "row", "", "one", "zero"]
    node = tiny.node("EmbedLayerNormalization", inputs, ["y", "m"], domain="com.microsoft")
    if op != "Embed":
        node = tiny.node(op, ["three", "three", "one"], ["y"], domain="com.microsoft")
        feed = {}

    def model(kind: Any, size: float) -> onnx.ModelProto:
        weights = {"row": row * size, "three": row[None] * size, "one": np.ones(4), "zero": np.zeros(4)}
        asked = [tiny.info(n, T.INT32, v.shape) for n, v in feed.items()]
        out = [tiny.info("y", T.FLOAT16 if kind is np.float16 else T.FLOAT, None)]
        return with_microsoft(tiny.model([node], asked, out, {n: w.astype(kind) for n, w in weights.items()}))

    assert np.abs(run(model(np.float32, 1e-5), **feed)[0]).min() > 0.9, "1e-5 would leave next to nothing"
    (finding,) = found(rule, model(np.float16, 1.0), tmp_path)
    assert finding.message.startswith("epsilon 1e-12 of")
