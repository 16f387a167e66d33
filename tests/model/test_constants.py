"""Numbers of constants: however they are written, and never a crash."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from hotlap.model.constants import array, constant, integers, scalar
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


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_one_number_is_read_from_raw_bytes(dtype: type[np.generic], shape: tuple[int, ...]) -> None:
    assert scalar(numpy_helper.from_array(np.full(shape, 2, dtype))) == 2.0


@pytest.mark.parametrize("kind", [T.FLOAT, T.DOUBLE, T.FLOAT16, T.INT64, T.INT32])
def test_one_number_is_read_from_typed_fields(kind: int) -> None:
    tensor = helper.make_tensor("t", kind, [], [3])
    assert not tensor.HasField("raw_data")
    assert scalar(tensor) == 3.0


def test_anything_else_is_no_number() -> None:
    assert scalar(None) is None
    assert scalar(numpy_helper.from_array(np.ones(2, np.float32))) is None
    assert scalar(helper.make_tensor("t", T.STRING, [], [b"1"])) is None
    beside = T(data_type=T.FLOAT, data_location=T.EXTERNAL)
    assert scalar(beside) is None


def test_a_tensor_that_claims_more_than_it_holds_is_none() -> None:
    assert scalar(T(data_type=T.FLOAT, dims=[1], raw_data=b"123")) is None
    assert scalar(T(data_type=T.FLOAT, dims=[1])) is None
    assert integers(T(data_type=T.INT64, dims=[2**40], raw_data=b"12345678")) is None


def test_whole_numbers() -> None:
    assert integers(numpy_helper.from_array(np.array([0, -1, 16]))) == (0, -1, 16)
    assert integers(numpy_helper.from_array(np.array([7], np.int32))) == (7,)
    assert integers(numpy_helper.from_array(np.array([7], np.float32))) is None
    assert integers(None) is None
    assert integers(numpy_helper.from_array(np.zeros(65, np.int64))) is None
