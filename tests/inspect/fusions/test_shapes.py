from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.inspect.dims import Dims
from hotlap.inspect.fusions.shapes import Shapes
from hotlap.model.walk import Walk
from tests import tiny
from tests.tiny import T, info, node


def shape_of(*nodes: onnx.NodeProto, x: Any = ("b", 4, 8), opset: int = 17, **weights: Any) -> Dims | None:
    model = tiny.model(nodes, [info("x", T.FLOAT, x)], [info("y", T.FLOAT, None)], weights, opset=opset)
    del model.graph.output[:]
    walk = Walk(model)
    return Shapes(walk).of(walk.root, "y")


INTS = {"axis0": np.array([0]), "last": np.array([-1]), "ids": np.zeros((2, 3), np.int64)}


@pytest.mark.parametrize(
    ("made", "expected", "weights"),
    [
        (node("Relu", ["x"], ["y"]), ("b", 4, 8), {}),
        (node("Add", ["x", "w"], ["y"]), ("b", 4, 8), {"w": np.ones(8, np.float32)}),
        (node("Add", ["x", "w"], ["y"]), ("b", 4, 8), {"w": np.ones((1, 4, 1), np.float32)}),
        (node("MatMul", ["x", "w"], ["y"]), ("b", 4, 5), {"w": np.ones((8, 5), np.float32)}),
        (node("Transpose", ["x"], ["y"], perm=[2, 0, 1]), (8, "b", 4), {}),
        (node("Transpose", ["x"], ["y"]), (8, 4, "b"), {}),
        (node("Reshape", ["x", "to"], ["y"]), ("b", None, 2), {"to": np.array([0, -1, 2])}),
        (node("Flatten", ["x"], ["y"]), (None, None), {}),
        (node("Unsqueeze", ["x", "axis0"], ["y"]), (1, "b", 4, 8), INTS),
        (node("Squeeze", ["x", "last"], ["y"]), ("b", 4), INTS),
        (node("ReduceMean", ["x"], ["y"], axes=[-1]), ("b", 4, 1), {}),
        (node("Gather", ["w", "ids"], ["y"]), (2, 3, 7), {**INTS, "w": np.ones((9, 7), np.float32)}),
        (node("ConstantOfShape", ["to"], ["y"]), (8, 4), {"to": np.array([8, 4])}),
        (node("Conv", ["x", "w"], ["y"]), None, {"w": np.ones((4, 4, 1), np.float32)}),
        (node("Reshape", ["x", "x"], ["y"]), None, {}),
    ],
)
def test_one_operator(made: onnx.NodeProto, expected: Dims | None, weights: dict[str, Any]) -> None:
    assert shape_of(made, **weights) == expected


def test_a_gemm_is_a_matrix() -> None:
    w = np.ones((5, 8), np.float32)
    assert shape_of(node("Gemm", ["x", "w"], ["y"], transB=1), x=("n", 8), w=w) == ("n", 5)


def test_a_chain_is_followed_and_stops_at_what_is_not_known() -> None:
    chain = [node("Relu", ["x"], ["a"]), node("Transpose", ["a"], ["b"], perm=[0, 2, 1])]
    assert shape_of(*chain, node("Erf", ["b"], ["y"])) == ("b", 8, 4)
    assert shape_of(*chain, node("NonZero", ["b"], ["c"]), node("Erf", ["c"], ["y"])) is None
    assert shape_of(node("Relu", ["x"], ["y"]), x=None) is None


def test_an_inner_graph_sees_the_shapes_around_it() -> None:
    inner = tiny.helper.make_graph([node("Relu", ["x"], ["t"])], "then", [], [info("t", T.FLOAT, None)])
    made = node("If", ["yes"], ["y"], then_branch=inner, else_branch=inner)
    inputs = [info("x", T.FLOAT, [2, "n"]), info("yes", T.BOOL, [])]
    walk = Walk(tiny.model([made], inputs, [info("y", T.FLOAT, None)]))
    assert Shapes(walk).of(walk.root.inner[0], "t") == (2, "n")
    assert Shapes(walk).of(walk.root, "nothing") is None


sizes = st.one_of(st.integers(1, 3), st.sampled_from(["a", "b"]))


@given(st.lists(sizes, max_size=4), st.lists(sizes, max_size=4))
def test_what_is_said_of_a_sum_is_never_more_than_onnx_knows(left: list[Any], right: list[Any]) -> None:
    fixed = [[s for s in side if isinstance(s, int)] for side in (left, right)]
    model = tiny.model(
        [node("Add", ["p", "q"], ["y"])],
        [info("p", T.FLOAT, left), info("q", T.FLOAT, right)],
        [info("y", T.FLOAT, None)],
    )
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    walk = Walk(model)
    ours = Shapes(walk)._made(walk.root.nodes[0])
    assert ours is not None and len(ours) == max(len(left), len(right))
    known = {1, *fixed[0], *fixed[1], *left, *right}
    assert all(size is None or size in known for size in ours)
