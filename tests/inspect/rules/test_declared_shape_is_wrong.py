"""HL104: outputs that are not shaped as declared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from hotlap.inspect.case import Ran
from hotlap.inspect.rules import declared_shape_is_wrong as rule
from hotlap.plan import Facts
from tests import tiny
from tests.inspect.cases import found
from tests.inspect.runs import rows, run, small, with_microsoft


def test_the_declared_and_the_real_shape_are_told(tmp_path: Path) -> None:
    model = small([tiny.node("Transpose", ["x"], ["y"], name="turn", perm=[1, 0])], ["batch", 3])
    real = run(model, x=rows(5))[0].shape
    assert real == (8, 5)
    [one] = found(rule, model, tmp_path, ran=Ran(facts=Facts(shapes={"y": (8, "batch")})))
    assert (one.severity, one.node, one.tensor) == ("error", 'Transpose "turn"', "y")
    assert one.message == "output y is declared [batch, 3], and is [8, batch]"


def test_an_output_without_a_declared_shape(tmp_path: Path) -> None:
    model = small([tiny.node("Relu", ["x"], ["y"])])
    [one] = found(rule, model, tmp_path, ran=Ran(facts=Facts(shapes={"y": (1, 8)})))
    assert "declared without a shape" in one.message


def test_the_graph_alone_proves_some(tmp_path: Path) -> None:
    for declared, said in ((["batch", 3], "[batch, 3]"), (["batch"], "[batch]")):
        model = small([tiny.node("Relu", ["x"], ["y"], name="relu")], declared)
        assert run(model, x=rows(5))[0].shape == (5, 8)
        for ran in (None, Ran(facts=Facts())):
            [one] = found(rule, model, tmp_path, ran=ran)
            assert one.message == f"output y is declared {said}, and is [batch, 8]"


def test_an_unknown_size_contradicts_nothing(tmp_path: Path) -> None:
    for declared in ([None, 8], ["rows", 8], ["batch", "width"], None):
        assert found(rule, small([tiny.node("Relu", ["x"], ["y"])], declared), tmp_path) == []


def test_right_shapes_and_no_run_say_nothing(tmp_path: Path) -> None:
    assert found(rule, tiny.add(), tmp_path, ran=Ran(facts=Facts())) == []
    assert found(rule, tiny.add(), tmp_path, ran=Ran()) == []
    assert found(rule, tiny.add(), tmp_path) == []


def sized(
    nodes: Any, out: list[int], feed: dict[str, Any], weights: dict[str, Any] | None = None, opset: int = 17
) -> onnx.ModelProto:
    """Output y, declared as ONNX Runtime makes it."""
    inputs = [tiny.info(n, onnx.helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in feed.items()]
    model = tiny.model(nodes, inputs, [tiny.info("y", onnx.TensorProto.FLOAT, out)], weights, opset)
    assert list(run(model, **feed)[0].shape) == out
    return model


@pytest.mark.parametrize(("op", "gates"), [("GRU", 3), ("LSTM", 4), ("RNN", 1)])
def test_a_recurrent_layer_that_leaves_its_first_output_out(tmp_path: Path, op: str, gates: int) -> None:
    weights = {
        "w": np.ones((1, gates * 5, 3), np.float32),
        "r": np.ones((1, gates * 5, 5), np.float32),
    }
    node = tiny.node(op, ["x", "w", "r"], ["", "y"], hidden_size=5)
    model = sized([node], [1, 2, 5], {"x": np.ones((4, 2, 3), np.float32)}, weights)
    assert found(rule, model, tmp_path) == []


def test_compress_without_an_axis_makes_one(tmp_path: Path) -> None:
    feed = {"x": np.ones((2, 3), np.float32), "keep": np.array([True, False, True])}
    assert found(rule, sized([tiny.node("Compress", ["x", "keep"], ["y"])], [2], feed), tmp_path) == []


@pytest.mark.parametrize("known", [True, False])
def test_pad_may_list_its_axes_in_any_order(tmp_path: Path, known: bool) -> None:
    feed: dict[str, Any] = {"x": np.ones((2, 3), np.float32)}
    axes = {"axes": np.array([1, 0])}
    pads = {"pads": np.array([1, 0, 1, 0])}
    node = tiny.node("Pad", ["x", "pads", "", "axes"], ["y"])
    model = sized([node], [2, 5], feed if known else feed | axes, pads | (axes if known else {}), opset=18)
    assert found(rule, model, tmp_path) == []
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 3
    assert len(found(rule, model, tmp_path)) == known


def test_squeeze_with_no_axes_takes_all_that_are_one(tmp_path: Path) -> None:
    node, weights = tiny.node("Squeeze", ["x", "none"], ["y"]), {"none": np.array([], np.int64)}
    model = sized([node], [3], {"x": np.ones((1, 3), np.float32)}, weights)
    assert found(rule, model, tmp_path) == []


def test_a_shape_that_is_cut_in_steps_that_are_not_known(tmp_path: Path) -> None:
    nodes = [
        tiny.node("Slice", ["sizes", "start", "end", "axis", "step"], ["cut"]),
        tiny.node("ConstantOfShape", ["cut"], ["y"]),
    ]
    weights = {n: np.array(v) for n, v in {"sizes": [2, 3, 4], "start": [0], "end": [3], "axis": [0]}.items()}
    model = sized(nodes, [2, 4], {"step": np.array([2])}, weights)
    assert found(rule, model, tmp_path) == []


def test_a_quantised_convolution_with_channels_last(tmp_path: Path) -> None:
    weights = {
        "s": np.float32(1), "z": np.uint8(0), "w": np.ones((8, 3, 1, 1), np.uint8),
    }  # fmt: skip
    nodes = [
        tiny.node(
            "QLinearConv", ["x", "s", "z", "w", "s", "z", "s", "z"], ["q"],
            domain="com.microsoft", channels_last=1,
        ),
        tiny.node("Cast", ["q"], ["y"], to=1),
    ]  # fmt: skip
    feed = {"x": np.ones((1, 4, 4, 3), np.uint8)}
    model = tiny.model(
        nodes,
        [tiny.info("x", onnx.TensorProto.UINT8, [1, 4, 4, 3])],
        [tiny.info("y", onnx.TensorProto.FLOAT, [1, 4, 4, 8])],
        weights,
    )
    with_microsoft(model)
    assert run(model, **feed)[0].shape == (1, 4, 4, 8)
    assert found(rule, model, tmp_path) == []
