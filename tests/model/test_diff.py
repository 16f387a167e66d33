from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from hotlap.model import Anatomy, Model, WeightStats, anatomy, weight_stats
from hotlap.model.cost import count_cost
from hotlap.model.diff import Change, Difference, diff
from tests import tiny


def side(model: onnx.ModelProto, path: Path) -> tuple[Anatomy, list[WeightStats]]:
    loaded = Model.load(tiny.save(model, path))
    return anatomy(loaded, count_cost(model)), list(weight_stats(model, path.parent))


@pytest.fixture
def against(tmp_path: Path) -> Callable[..., Difference]:
    """The `mlp` against one that was changed by a function."""

    def compare(change: Callable[[onnx.ModelProto], object]) -> Difference:
        changed = tiny.mlp()
        change(changed)
        a, weights_a = side(tiny.mlp(), tmp_path / "a.onnx")
        b, weights_b = side(changed, tmp_path / "b.onnx")
        return diff(a, b, weights_a, weights_b)

    return compare


def said(changes: tuple[Change, ...]) -> list[tuple[str, str | int | None, str | int | None]]:
    return [(c.name, c.before, c.after) for c in changes if c.name != "size"]


def test_the_same_file_does_not_differ(against: Callable[..., Difference]) -> None:
    found = against(lambda model: None)
    assert found.identical and found.nothing
    assert msgspec.json.decode(msgspec.json.encode(found), type=Difference) == found


def test_a_file_that_is_only_written_otherwise_differs_in_nothing(against: Callable[..., Difference]) -> None:
    def rename(model: onnx.ModelProto) -> None:
        model.graph.node[0].name = "first"

    found = against(rename)
    assert found.nothing and not found.identical
    assert [c.name for c in found.file] == ["size"]


def test_the_signature(against: Callable[..., Difference]) -> None:
    def change(model: onnx.ModelProto) -> None:
        model.graph.input[0].CopyFrom(tiny.info("x", T.FLOAT, ["rows", 16]))
        model.graph.output.append(tiny.info("h", T.FLOAT, ["rows", 32]))

    found = against(change)
    assert said(found.inputs) == [("x", "float32[batch, 16]", "float32[rows, 16]")]
    assert said(found.outputs) == [("h", None, "float32[rows, 32]")]


def test_the_order_of_outputs(tmp_path: Path) -> None:
    swapped = tiny.two_outputs()
    swapped.graph.output.extend([swapped.graph.output[0]])
    del swapped.graph.output[0]
    (a, _), (b, _) = side(tiny.two_outputs(), tmp_path / "a.onnx"), side(swapped, tmp_path / "b.onnx")
    assert said(diff(a, b).outputs) == [("total", 0, 1), ("product", 1, 0)]


def test_what_the_file_says_of_itself(against: Callable[..., Difference]) -> None:
    def change(model: onnx.ModelProto) -> None:
        model.opset_import[0].version = 18
        model.ir_version = 10
        model.metadata_props.add(key="source", value="here")

    assert said(against(change).file) == [
        ("opset ai.onnx", 17, 18),
        ("IR version", 9, 10),
        ("metadata source", None, "here"),
    ]


def test_operators_and_cost(against: Callable[..., Difference]) -> None:
    def change(model: onnx.ModelProto) -> None:
        model.graph.node[1].op_type = "MatMul"
        model.graph.node[1].input.append("sq")
        model.graph.initializer.append(numpy_helper.from_array(np.ones((32, 32), np.float32), "sq"))

    found = against(change)
    assert said(found.operators) == [("Relu", 1, None), ("MatMul", None, 1)]
    assert said(found.weights) == [("sq", None, "float32[32, 32]")]
    assert said(found.cost) == [
        ("multiply-adds", "640*batch", "1.66k*batch"),
        ("bytes", "592*batch + 2.7k", "592*batch + 6.8k"),
    ]


def test_weights_by_their_values(against: Callable[..., Difference]) -> None:
    def change(model: onnx.ModelProto) -> None:
        weights = {t.name: t for t in model.graph.initializer}
        values = numpy_helper.to_array(weights["b2"]) + 1
        weights["b2"].CopyFrom(numpy_helper.from_array(values, "b2"))
        weights["w1"].name = "first"
        model.graph.node[0].input[1] = "first"

    found = against(change)
    assert found.renamed == {"w1": "first"}
    ((name, before, after),) = said(found.weights)
    assert name == "b2" and before != after
    assert str(before).startswith("float32[4] sha256:") and str(after).startswith("float32[4] sha256:")


def test_functions_and_unknown_costs(against: Callable[..., Difference]) -> None:
    def change(model: onnx.ModelProto) -> None:
        body = [helper.make_node("NoSuch", ["a"], ["b"], domain="own")]
        opset = [helper.make_opsetid("own", 1)]
        model.opset_import.append(helper.make_opsetid("own", 1))
        model.functions.append(helper.make_function("own", "f", ["a"], ["b"], body, opset))
        model.graph.node[1].CopyFrom(helper.make_node("f", ["h"], ["r"], domain="own"))

    found = against(change)
    assert said(found.functions) == [("own.f", None, 1)]
    assert said(found.cost) == [
        ("multiply-adds", "640*batch", "unknown"),
        ("bytes", "592*batch + 2.7k", "unknown"),
    ]
