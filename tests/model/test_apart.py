from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from hotlap.errors import StorageError
from hotlap.model import Model
from hotlap.model.apart import LEAST, weights_apart
from tests import tiny


def test_a_model_whose_weights_lie_apart_answers_alike_and_is_small(tmp_path: Path) -> None:
    whole = tiny.mlp(hidden=256)  # 16 KB, 1 KB, 4 KB and 16 B
    apart = onnx.ModelProto()
    apart.CopyFrom(whole)
    assert weights_apart(apart, tmp_path / "weights.bin") == 2
    path = tiny.save(apart, tmp_path / "apart.onnx")
    assert path.stat().st_size < LEAST < (tmp_path / "weights.bin").stat().st_size == 16 * 1024 + 4096
    assert [f.name for f in Model.load(path).files()] == ["apart.onnx", "weights.bin"]
    x = np.random.default_rng(0).standard_normal((3, 16), np.float32)
    one, two = (
        onnxruntime.InferenceSession(str(file)).run(None, {"x": x})[0]
        for file in (tiny.save(whole, tmp_path / "whole.onnx"), path)
    )
    assert np.array_equal(one, two)


def test_where_all_are_small_nothing_is_written(tmp_path: Path) -> None:
    model = tiny.mlp()
    before = model.SerializeToString()
    assert weights_apart(model, tmp_path / "weights.bin") == 0
    assert model.SerializeToString() == before and not list(tmp_path.iterdir())


def test_where_nothing_can_be_written_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"weights\.bin: not written"):
        weights_apart(tiny.mlp(hidden=256), tmp_path / "no" / "weights.bin")
