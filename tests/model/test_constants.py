"""Numbers of constants: however they are written, and never a crash."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import numpy_helper

from hotlap.model.constants import array, constant
from hotlap.model.walk import Walk
from tests import tiny


def test_weights_and_constants_of_every_spelling() -> None:
    model = tiny.model(
        [
            tiny.node("Constant", [], ["a"], value=numpy_helper.from_array(np.array([1.5], np.float32))),
            tiny.node("Constant", [], ["b"], value_float=2.5),
            tiny.node("Constant", [], ["c"], value_ints=[3, 4]),
            tiny.node("Constant", [], ["d"], value_string="text"),
            tiny.node("Add", ["x", "w"], ["y"]),
        ],
        [tiny.info("x", T.FLOAT, [1])],
        [tiny.info("y", T.FLOAT, [1])],
        {"w": np.array([7.0], np.float32)},
    )
    walk = Walk(model)
    found = {name: constant(walk, walk.root, name) for name in "abcdwxy"}
    assert found["a"] is not None and found["a"].tolist() == [1.5]
    assert found["b"] is not None and (found["b"].item(), found["b"].dtype) == (2.5, np.float32)
    assert found["c"] is not None and found["c"].tolist() == [3, 4]
    assert found["w"] is not None and found["w"].tolist() == [7.0]
    assert found["d"] is None and found["x"] is None and found["y"] is None


def test_a_weight_that_a_caller_may_replace_is_no_constant() -> None:
    model = tiny.add()
    model.graph.initializer.append(numpy_helper.from_array(np.ones((1, 4), np.float32), "x"))
    walk = Walk(model)
    assert constant(walk, walk.root, "x") is None


@pytest.mark.parametrize(
    "broken",
    [
        {"data_type": T.FLOAT, "dims": [3], "raw_data": b"1234"},
        {"data_type": 0, "dims": [1]},
        {"data_type": 999, "dims": [1], "raw_data": b"1"},
        {"data_type": T.FLOAT, "dims": [-1], "raw_data": b"1234"},
        {"data_type": T.STRING, "dims": [1], "string_data": [b"a"]},
        {"data_type": T.FLOAT, "dims": [1], "data_location": T.EXTERNAL},
    ],
)
def test_what_cannot_be_read_is_none(broken: dict[str, object]) -> None:
    found = array(T(**broken))
    assert found is None or found.size == 1  # onnx reads a size of -1 as "whatever there is"
