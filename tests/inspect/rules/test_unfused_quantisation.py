"""HL210: what ORT computes in float between quantised values, from the graphs that it really executes."""

from __future__ import annotations

import platform
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
from hotlap.model.walk import Walk
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


def mixed(made: str) -> onnx.ModelProto:
    """int8 in by two ways, and int8 or uint8 out."""
    nodes = [
        tiny.node("QuantizeLinear", ["x", "s", "int8"], ["q"]),
        tiny.node("DequantizeLinear", ["q", "s", "int8"], ["a"]),
        tiny.node("DequantizeLinear", ["q", "s", "int8"], ["b"]),
        tiny.node("Add", ["a", "b"], ["c"], name="sum"),
        tiny.node("QuantizeLinear", ["c", "s", made], ["cq"]),
        tiny.node("DequantizeLinear", ["cq", "s", made], ["y"]),
    ]
    return tiny.model(
        nodes,
        [tiny.info("x", T.FLOAT, ["n", 4])],
        [tiny.info("y", T.FLOAT, None)],
        {"s": np.float32(0.05), "int8": np.int8(0), "uint8": np.uint8(128)},
    )


def test_signed_and_unsigned_at_once_are_blocked(tmp_path: Path) -> None:
    cases = [found(rule, tiny.add(), tmp_path, ran=Ran(executed=Walk(mixed("uint8"))))]
    if platform.machine() in ("x86_64", "AMD64"):  # there ORT makes int8 unsigned where one node reads it
        cases += [findings(mixed("int8"), tmp_path), findings(mixed("uint8"), tmp_path)]
    for [one] in cases:
        assert one.node == 'Add "sum"' and "QUInt8" in one.fix
        assert "input 0 is int8 and its output uint8" in one.message


def test_many_alike_are_one_finding(tmp_path: Path) -> None:
    nodes: list[onnx.NodeProto] = []
    for n in range(3):
        nodes += [
            tiny.node("QuantizeLinear", [f"x{n}", "s", "z"], [f"q{n}"]),
            tiny.node("DequantizeLinear", [f"q{n}", "s", "z"], [f"d{n}"]),
            tiny.node("Mul", [f"d{n}", f"d{n}"], [f"m{n}"], name=f"mul{n}"),
            tiny.node("QuantizeLinear", [f"m{n}", "s", "z"], [f"e{n}"]),
            tiny.node("DequantizeLinear", [f"e{n}", "s", "z"], [f"f{n}"]),
            tiny.node("Sub", [f"f{n}", f"m{n}"], [f"x{n + 1}"], name=f"sub{n}"),
        ]
    model = tiny.model(
        nodes,
        [tiny.info("x0", T.FLOAT, ["n"])],
        [tiny.info("x3", T.FLOAT, None)],
        {"s": np.float32(0.05), "z": np.uint8(0)},
    )
    [one] = [f for f in findings(model, tmp_path) if f.severity == "warning"]
    assert one.node == 'Mul "mul0"' and one.message.endswith(
        'm0 is also read by Sub "sub0"; 2 more Mul alike'
    )
