from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from hotlap.verify.weights import difference
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
