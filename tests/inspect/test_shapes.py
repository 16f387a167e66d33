"""Shapes followed through graphs: against what ONNX Runtime makes, on small graphs and on the real models."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto as T

from hotlap.inspect.dims import Clash
from hotlap.inspect.shapes import Shapes, shapes
from hotlap.model.walk import Walk
from tests import tiny
from tests.inspect.runs import run, session
from tests.real import NAMES, real


def followed(model: onnx.ModelProto) -> Shapes:
    return shapes(Walk(model))


def test_an_unnamed_axis_is_a_symbol_of_its_own() -> None:
    known = followed(tiny.identity(T.FLOAT, (None, "n", 3)))
    assert known.dims("x") == known.dims("y") == ("x[0]", "n", 3)


def test_shapes_are_worked_out_once() -> None:
    walk = Walk(tiny.mlp())
    assert shapes(walk) is shapes(walk)
    assert shapes(walk).dims("y") == ("batch", 4)


def test_what_an_exporter_wrote_inside_is_not_believed() -> None:
    model = tiny.mlp()
    model.graph.value_info.append(tiny.info("h", T.FLOAT, [77, 77]))
    assert followed(model).dims("h") == ("batch", 32)


def test_a_shape_computed_from_the_input_keeps_its_symbol() -> None:
    model = tiny.model(
        [
            tiny.node("Shape", ["x"], ["s"]),
            tiny.node("Gather", ["s", "zero"], ["n"]),
            tiny.node("Unsqueeze", ["n", "axis"], ["n1"]),
            tiny.node("Concat", ["n1", "rest"], ["target"], axis=0),
            tiny.node("Reshape", ["x", "target"], ["y"]),
        ],
        [tiny.info("x", T.FLOAT, ["batch", 8])],
        [tiny.info("y", T.FLOAT, None)],
        {"zero": np.int64(0), "axis": np.array([0]), "rest": np.array([2, 4])},
    )
    known = followed(model)
    assert known.dims("y") == ("batch", 2, 4)
    assert [a.size for a in known.asked("target") or ()] == ["batch", 2, 4]
    assert run(model, x=np.ones((3, 8), np.float32))[0].shape == (3, 2, 4)


def test_constants_that_pin_an_axis_are_named() -> None:
    model = tiny.model(
        [
            tiny.node("Reshape", ["x", "shape"], ["a"]),
            tiny.node("Expand", ["x", "two"], ["b"]),
            tiny.node("Concat", ["x", "token"], ["c"], axis=1),
            tiny.node("Add", ["x", "three"], ["d"]),
        ],
        [tiny.info("x", T.FLOAT, ["batch", 8])],
        [tiny.info("d", T.FLOAT, None)],
        {
            "shape": np.array([1, 2, 4]),
            "two": np.array([2, 8]),
            "token": np.ones((1, 1), np.float32),
            "three": np.ones((3, 8), np.float32),
        },
    )
    assert [(s.constant, s.clash) for s in followed(model).stuck] == [
        ("shape", Clash("batch", (1,))),
        ("two", Clash("batch", (1, 2))),
        ("token", Clash("batch", (1,))),
        ("three", Clash("batch", (1, 3))),
    ]


def test_the_start_of_a_recurrent_network_pins_its_rows() -> None:
    weights = {
        "w": np.ones((1, 16, 3), np.float32),
        "r": np.ones((1, 16, 4), np.float32),
        "h": np.zeros((1, 1, 4), np.float32),
    }
    model = tiny.model(
        [tiny.node("LSTM", ["x", "w", "r", "", "", "h", "h"], ["y"], hidden_size=4)],
        [tiny.info("x", T.FLOAT, ["steps", "batch", 3])],
        [tiny.info("y", T.FLOAT, None)],
        weights,
    )
    known = followed(model)
    assert known.dims("y") == ("steps", 1, "batch", 4)
    assert known.stuck[0].clash == Clash("batch", (1,)) and known.stuck[0].constant == "h"
    assert run(model, x=np.ones((5, 1, 3), np.float32))[0].shape == (5, 1, 1, 4)
    with pytest.raises(Exception, match="initial_h"):
        run(model, x=np.ones((5, 2, 3), np.float32))


@pytest.mark.parametrize(
    "broken",
    [
        tiny.node("Reshape", ["x"], ["y"]),
        tiny.node("Transpose", ["x"], ["y"], perm=[0, 0]),
        tiny.node("Gather", ["x", "x"], ["y"], axis=9),
        tiny.node("Unsqueeze", ["x", "x"], ["y"]),
        tiny.node("Concat", [], ["y"], axis=0),
        tiny.node("Squeeze", ["x"], ["y"], axes=[7]),
        tiny.node("Gemm", ["x"], ["y"]),
        tiny.node("Conv", ["x", ""], ["y"]),
        tiny.node("Softmax", [], []),
        tiny.node("Transpose", ["x"], ["y"], perm="text"),
        tiny.node("Expand", ["x", "nowhere"], ["y"]),
    ],
)
def test_a_broken_node_makes_an_unknown_shape(broken: onnx.NodeProto) -> None:
    known = followed(tiny.model([broken], [tiny.info("x", T.FLOAT, ["n", 2])], []))
    assert known.dims("y") is None


@pytest.mark.parametrize("name", NAMES)
def test_real_models_hold_what_is_said(name: str) -> None:
    model = real(name)
    proto = onnx.load(model.path)
    known = followed(proto)
    values = [o for n in known.walk.root.nodes for o in n.outputs if o and known.dims(o) is not None]
    declared = {o.name for o in proto.graph.output}
    for value in values:
        if value not in declared:
            proto.graph.output.add(name=value)
    feed = model.feeds(2)[1]
    opened = session(proto, graph_optimization_level=ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
    made: dict[str, Any] = dict(
        zip([o.name for o in opened.get_outputs()], opened.run(None, feed), strict=True)
    )
    sizes = {d: s for n, v in feed.items() for d, s in zip(known.dims(n) or (), np.shape(v), strict=True)}
    wrong = {}
    for value in values:
        said = known.dims(value) or ()
        real_shape = np.shape(made[value])
        expected = [sizes.get(d, d) for d in said]
        if len(said) != len(real_shape) or any(
            e is not None and e != r for e, r in zip(expected, real_shape, strict=True)
        ):
            wrong[value] = (said, real_shape)
    assert wrong == {}
