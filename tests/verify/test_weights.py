from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from hotlap.verify.weights import difference, not_finite
from tests import tiny

HERE = Path()


def told(before: np.ndarray, after: np.ndarray) -> str:
    return difference(numpy_helper.from_array(before), numpy_helper.from_array(after), HERE, HERE)


def test_equal_tensors_have_no_difference() -> None:
    values = np.array([[1.0, np.nan], [np.inf, -0.0]], np.float32)
    assert told(values, values.copy()) == ""


def test_the_first_of_the_others_is_named() -> None:
    before = np.arange(6, dtype=np.float32).reshape(2, 3)
    after = before.copy()
    after[1] += 1
    assert told(before, after) == "3 of 6 values differ, the first[1, 0]: 3 became 4"
    assert told(np.float32(1), np.float32(2)) == "1 of 1 values differ, the first: 1 became 2"
    assert told(before, before.astype(np.float16)) == "float32[2, 3] became float16[2, 3]"


def test_weights_beside_the_model_are_read_from_its_folder(tmp_path: Path) -> None:
    path = tiny.mlp_external(tmp_path)
    outside = onnx.load(path, load_external_data=False).graph.initializer
    inside = tiny.mlp().graph.initializer
    for one, other in zip(outside, inside, strict=True):
        assert difference(one, other, tmp_path, HERE) == ""


def beside(tensor: onnx.TensorProto, folder: Path, name: str) -> onnx.TensorProto:
    """The tensor with its bytes in a file, after three of somebody else."""
    outside = onnx.TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
    values = numpy_helper.from_array(numpy_helper.to_array(tensor)).raw_data
    (folder / name).write_bytes(b"\xff\xff\xff" + values)
    outside.data_location = T.EXTERNAL
    for key, value in {"location": name, "offset": 3, "length": len(values)}.items():
        outside.external_data.add(key=key, value=str(value))
    return outside


@pytest.mark.parametrize(("kind", "name"), [(T.INT4, "int4"), (T.UINT4, "uint4"), (T.FLOAT4E2M1, "float4")])
def test_elements_of_four_bits_share_bytes_in_a_file_too(tmp_path: Path, kind: int, name: str) -> None:
    numbers = [1, 2, 3, 4, 1, 2, 3]  # an odd number: the last byte is filled up
    inside, other = (helper.make_tensor("w", kind, [7], values) for values in (numbers, [*numbers[:6], 6]))
    outside = beside(inside, tmp_path, f"{name}.bin")
    assert difference(inside, outside, HERE, tmp_path) == ""
    assert difference(outside, other, tmp_path, HERE) == "1 of 7 values differ, the first[6]: 3 became 6"


def test_types_that_numpy_has_not_itself_have_nan_too() -> None:
    odd = helper.make_tensor("w", T.BFLOAT16, [2], [1.0, float("nan")])
    assert difference(odd, odd, HERE, HERE) == ""
    assert not_finite(odd, HERE) == "1 of 2 values not finite, the first[1]: nan"


@pytest.mark.parametrize(
    ("before", "after", "told_"),
    [
        (np.array([True]), np.array([False]), "True became False"),
        (np.array([12345678]), np.array([12345679]), "12345678 became 12345679"),
        (np.array(["a"], object), np.array(["b"], object), "'a' became 'b'"),
    ],
)
def test_what_is_no_float_is_told_whole(before: np.ndarray, after: np.ndarray, told_: str) -> None:
    assert told(before, after) == f"1 of 1 values differ, the first[0]: {told_}"
