from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx

from tests import tiny
from tests.runtime.probe import kinds
from tests.runtime.probe.kinds import facts_of


def test_declarations_that_hold_are_not_repeated(tmp_path: Path) -> None:
    for model in (tiny.mlp(), tiny.gather_mask(), tiny.conv(), kinds.rows_second(), tiny.scalar()):
        assert facts_of(model, tmp_path).shapes == {}


def redeclared(model: onnx.ModelProto, shape: list[int | str]) -> onnx.ModelProto:
    model.graph.output[0].CopyFrom(tiny.info("y", tiny.T.FLOAT, shape))
    return model


def test_another_number_of_axes(tmp_path: Path) -> None:
    """The way of `wrongly_declared`, but what cannot be inferred: a shape that is computed."""
    weights = {"s": np.array([-1, 1, 8])}
    nodes = [tiny.node("Sin", ["x"], ["a"]), tiny.node("Loop", ["one", "", "a"], ["y"], body=_body())]
    model = kinds.of_x(nodes, None, weights | {"one": np.array(1)}, ("N", 8))
    assert facts_of(redeclared(model, ["N", "steps"]), tmp_path).shapes == {"y": ("N", 1, 8)}


def _body() -> onnx.GraphProto:
    return tiny.helper.make_graph(
        [
            tiny.node("Reshape", ["before", "s"], ["after"]),
            tiny.node("Identity", ["go"], ["on"]),
        ],
        "body",
        [
            tiny.info("i", tiny.T.INT64, []),
            tiny.info("go", tiny.T.BOOL, []),
            tiny.info("before", tiny.T.FLOAT, None),
        ],
        [tiny.info("on", tiny.T.BOOL, []), tiny.info("after", tiny.T.FLOAT, None)],
    )


def test_axes_in_another_order_than_declared(tmp_path: Path) -> None:
    feed = {"x": np.random.default_rng(0).standard_normal((1, 20, 3), np.float32)}
    facts = facts_of(kinds.wrongly_declared(), tmp_path, feed)
    assert facts.shapes == {"y": ("time", "batch", 3)}
    assert (facts.rows, facts.axes) == ("independent", {"x": 0, "y": 1})


def test_a_fixed_size_that_is_another(tmp_path: Path) -> None:
    nodes = [tiny.node("Sin", ["x"], ["a"]), tiny.node("Loop", ["one", "", "a"], ["y"], body=_body())]
    model = kinds.of_x(nodes, None, {"s": np.array([-1, 4, 2]), "one": np.array(1)}, ("N", 8))
    assert facts_of(redeclared(model, ["N", 2, "k"]), tmp_path).shapes == {"y": ("N", 4, "k")}
