"""Tensors that serve as shapes, number by number."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import numpy_helper

from hotlap.inspect.asking import Asked, axis_of
from hotlap.inspect.shapes import shapes
from hotlap.model.walk import Walk
from tests import tiny
from tests.inspect.runs import run

SIZE = 3
"""What the symbol n is when the graph is run."""


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([tiny.node("Shape", ["x"], ["y"])], ["n", 4, 6]),
        ([tiny.node("Shape", ["x"], ["y"], start=-2)], [4, 6]),
        ([tiny.node("Shape", ["x"], ["s"]), tiny.node("Gather", ["s", "one"], ["y"])], [4]),
        ([tiny.node("Shape", ["x"], ["s"]), tiny.node("Slice", ["s", "one", "two"], ["y"])], [4]),
        ([tiny.node("Concat", ["one", "two"], ["y"], axis=0)], [1, 2]),
        ([tiny.node("Shape", ["x"], ["s"]), tiny.node("Mul", ["s", "one"], ["y"])], ["n", 4, 6]),
        ([tiny.node("Shape", ["x"], ["s"]), tiny.node("Mul", ["s", "two"], ["y"])], [None, 8, 12]),
        ([tiny.node("Shape", ["x"], ["s"]), tiny.node("Div", ["s", "two"], ["y"])], [None, 2, 3]),
        ([tiny.node("Div", ["odd", "two"], ["y"])], [-3]),
        ([tiny.node("Div", ["odd", "minus"], ["y"])], [3]),
        ([tiny.node("Div", ["two", "minus"], ["y"])], [-1]),
        ([tiny.node("Div", ["one", "minus"], ["y"])], [0]),
        ([tiny.node("Add", ["one", "two"], ["y"])], [3]),
        ([tiny.node("Sub", ["one", "two"], ["y"])], [-1]),
        (
            [
                tiny.node(
                    "ConstantOfShape", ["two"], ["y"], value=numpy_helper.from_array(np.array([7], np.int64))
                )
            ],
            [7, 7],
        ),
        ([tiny.node("Constant", [], ["y"], value_ints=[5, 6])], [5, 6]),
    ],
)
def test_numbers_and_symbols(nodes: list[onnx.NodeProto], expected: list[Any]) -> None:
    model = tiny.model(
        nodes,
        [tiny.info("x", T.FLOAT, ["n", 4, 6])],
        [tiny.info("y", T.INT64, None)],
        {"one": np.array([1]), "two": np.array([2]), "odd": np.array([-7]), "minus": np.array([-2])},
    )
    asked = shapes(Walk(model)).asked("y")
    assert asked is not None and [a.size for a in asked] == expected
    made = run(model, x=np.ones((SIZE, 4, 6), np.float32))[0].tolist()
    assert all(a in (None, m) or (a == "n" and m == SIZE) for a, m in zip(expected, made, strict=True))


def test_a_number_remembers_the_constant_that_says_it() -> None:
    model = tiny.model([tiny.node("Concat", ["one", "two"], ["y"], axis=0)], [], [], {"one": [1], "two": [2]})
    assert shapes(Walk(model)).asked("y") == (Asked(1, "one"), Asked(2, "two"))


def test_floats_and_long_tensors_are_no_shapes() -> None:
    known = shapes(
        Walk(tiny.model([], [], [], {"f": np.ones(3, np.float32), "long": np.ones(1000, np.int64)}))
    )
    assert known.asked("f") is None and known.asked("long") is None and known.asked("nowhere") is None


def test_an_axis_counts_from_either_end() -> None:
    assert axis_of(-1, 3) == 2
    with pytest.raises(ValueError, match="3"):
        axis_of(3, 3)
