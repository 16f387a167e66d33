"""HL210: what ORT computes in float between quantised values, from the graphs that it really executes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

from hotlap.inspect import Finding
from hotlap.inspect.case import Ran
from hotlap.inspect.rules import unfused_quantisation as rule
from tests import tiny
from tests.inspect.cases import found
from tests.inspect.quantised import AFTER, full_range, qdq_conv, qdq_matmul
from tests.inspect.runs import executed

KERNEL = full_range((8, 4, 3, 3))


def findings(model: onnx.ModelProto, folder: Path) -> list[Finding]:
    return found(rule, model, folder, ran=Ran(executed=executed(model, folder)))


def test_fused_graphs_are_left_alone(tmp_path: Path) -> None:
    for model in (
        qdq_conv(KERNEL),
        qdq_matmul(full_range((64, 8))),
        qdq_matmul(full_range((64, 8)), after=[tiny.node("Identity", ["c"], ["y"])]),
        qdq_conv(KERNEL, after=[tiny.node("Relu", ["c"], ["r"]), *_after("r")]),
        tiny.mlp(),
    ):
        assert findings(model, tmp_path) == []
    assert found(rule, qdq_conv(KERNEL), tmp_path, ran=Ran()) == []


def _after(value: str) -> Sequence[onnx.NodeProto]:
    return (
        tiny.node("QuantizeLinear", [value, "ys", "yz"], ["cq"]),
        tiny.node("DequantizeLinear", ["cq", "ys", "yz"], ["y"]),
    )


def second_reader() -> onnx.ModelProto:
    after = [
        tiny.node("QuantizeLinear", ["c", "ys", "yz"], ["cq"]),
        tiny.node("DequantizeLinear", ["cq", "ys", "yz"], ["cd"]),
        tiny.node("Sub", ["cd", "c"], ["y"], name="other"),
    ]
    return qdq_conv(KERNEL, after=after)


def output_between() -> onnx.ModelProto:
    model = qdq_conv(KERNEL)
    model.graph.output.append(tiny.info("c", T.FLOAT, None))
    return model


def scale_from_outside() -> onnx.ModelProto:
    model = qdq_conv(KERNEL)
    bias = {"b": np.ones(8, np.int32), "bs": np.float32(0.01), "bz": np.int32(0)}
    model.graph.initializer.extend(tiny.numpy_helper.from_array(np.asarray(v), n) for n, v in bias.items())
    model.graph.node.insert(0, tiny.node("DequantizeLinear", ["b", "bs", "bz"], ["bd"]))
    [core] = [n for n in model.graph.node if n.name == "core"]
    core.input.append("bd")
    [scale] = [t for t in model.graph.initializer if t.name == "xs"]
    model.graph.initializer.remove(scale)
    model.graph.input.append(tiny.info("xs", T.FLOAT, []))
    return model


def per_channel() -> onnx.ModelProto:
    model = qdq_matmul(full_range((64, 8)))
    for name, numbers in (("xs", np.full(64, 0.01, np.float32)), ("xz", np.zeros(64, np.uint8))):
        [held] = [t for t in model.graph.initializer if t.name == name]
        held.CopyFrom(tiny.numpy_helper.from_array(numbers, name))
    return model


def sixteen_bits() -> onnx.ModelProto:
    model = qdq_conv(KERNEL, zero=np.uint16(0))
    model.opset_import[0].version, model.ir_version = 21, 10
    return model


@pytest.mark.parametrize(
    ("model", "tensor", "why"),
    [
        (qdq_conv(KERNEL, after=[tiny.node("Identity", ["c"], ["y"])]), "y", "its output y is not quantised"),
        (second_reader(), "c", 'c is also read by Sub "other"'),
        (output_between(), "c", "c is also an output of the model"),
        (scale_from_outside(), "xs", "xs, a scale or zero point, is not constant"),
        (per_channel(), "xs", "xs holds a scale for each channel of the activations"),
        (sixteen_bits(), "xq", "xq is quantised to uint16; ORT's kernels take 8 bits"),
    ],
)
def test_the_first_thing_that_blocks_it_is_named(
    tmp_path: Path, model: onnx.ModelProto, tensor: str, why: str
) -> None:
    [one] = [f for f in findings(model, tmp_path) if f.severity == "warning"]
    assert one.node.endswith(' "core"') and one.tensor == tensor
    assert one.message.endswith(f"ORT computes it in float: {why}")


def sandwich(op: str, **attributes: Any) -> onnx.ModelProto:
    nodes = [
        tiny.node("QuantizeLinear", ["x", "ys", "yz"], ["q"]),
        tiny.node("DequantizeLinear", ["q", "ys", "yz"], ["d"]),
        tiny.node(op, ["d"], ["c"], name="core", **attributes),
        *AFTER,
    ]
    return tiny.model(
        nodes,
        [tiny.info("x", T.FLOAT, ["n", 4, 8, 8])],
        [tiny.info("y", T.FLOAT, None)],
        {"ys": np.float32(0.05), "yz": np.uint8(0)},
    )


@pytest.mark.parametrize("op", ["Erf", "Exp", "Tanh"])
def test_operators_without_an_8_bit_form_are_counted_once(tmp_path: Path, op: str) -> None:
    [one] = findings(sandwich(op), tmp_path)
    assert (one.severity, one.node) == ("info", f'{op} "core"')
    assert f"no 8-bit form of 1 {op}" in one.message


@pytest.mark.parametrize("op", ["Sigmoid", "Softmax", "LeakyRelu", "GlobalAveragePool"])
def test_operators_with_one_are_left_alone(tmp_path: Path, op: str) -> None:
    assert findings(sandwich(op), tmp_path) == []
