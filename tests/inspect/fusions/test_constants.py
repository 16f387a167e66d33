from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from hotlap.inspect.fusions.constants import dtype_name, integers, scalar


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_one_number_is_read_from_raw_bytes(dtype: type[np.generic], shape: tuple[int, ...]) -> None:
    assert scalar(numpy_helper.from_array(np.full(shape, 2, dtype))) == 2.0


@pytest.mark.parametrize(
    "kind", [TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.INT64, TensorProto.INT32]
)
def test_one_number_is_read_from_typed_fields(kind: int) -> None:
    tensor = helper.make_tensor("t", kind, [], [3])
    assert not tensor.HasField("raw_data")
    assert scalar(tensor) == 3.0


def test_anything_else_is_no_number() -> None:
    assert scalar(None) is None
    assert scalar(numpy_helper.from_array(np.ones(2, np.float32))) is None
    assert scalar(helper.make_tensor("t", TensorProto.STRING, [], [b"1"])) is None
    beside = TensorProto(data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
    assert scalar(beside) is None


def test_a_tensor_that_claims_more_than_it_holds_is_none() -> None:
    assert scalar(TensorProto(data_type=TensorProto.FLOAT, dims=[1], raw_data=b"123")) is None
    assert scalar(TensorProto(data_type=TensorProto.FLOAT, dims=[1])) is None
    assert integers(TensorProto(data_type=TensorProto.INT64, dims=[2**40], raw_data=b"12345678")) is None


def test_whole_numbers() -> None:
    assert integers(numpy_helper.from_array(np.array([0, -1, 16]))) == (0, -1, 16)
    assert integers(numpy_helper.from_array(np.array([7], np.int32))) == (7,)
    assert integers(numpy_helper.from_array(np.array([7], np.float32))) is None
    assert integers(None) is None
    assert integers(numpy_helper.from_array(np.zeros(65, np.int64))) is None


def test_types_have_the_names_that_hotlap_uses_everywhere() -> None:
    assert dtype_name(TensorProto.FLOAT) == "float32"
    assert dtype_name(TensorProto.INT4) == "int4"
    assert dtype_name(TensorProto.UNDEFINED) == ""
