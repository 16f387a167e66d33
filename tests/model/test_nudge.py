from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from hotlap.errors import ModelError
from hotlap.model.nudge import nudged_copy
from tests import tiny


def test_every_large_float_weight_moves_by_one_unit_and_no_other(tmp_path: Path) -> None:
    path = tiny.save(tiny.mlp(), tmp_path / "mlp.onnx")
    copy = nudged_copy(path, tmp_path / "copy.onnx", seed=3)
    assert copy == tmp_path / "copy.onnx"
    before, after = (onnx.load(p).graph.initializer for p in (path, copy))
    for a, b in zip(before, after, strict=True):
        x, y = numpy_helper.to_array(a), numpy_helper.to_array(b)
        if x.size < 16:
            assert np.array_equal(x, y)
        else:
            assert (np.abs(x.view(np.int32) - y.view(np.int32)) == 1).all()


def test_equal_seeds_give_equal_copies(tmp_path: Path) -> None:
    path = tiny.save(tiny.mlp(), tmp_path / "mlp.onnx")
    one, two, other = (nudged_copy(path, tmp_path / f"{n}.onnx", seed) for n, seed in enumerate((1, 1, 2)))
    assert one.read_bytes() == two.read_bytes() != other.read_bytes()


def test_nothing_to_nudge_and_weights_elsewhere_give_none(tmp_path: Path) -> None:
    assert nudged_copy(tiny.save(tiny.add(), tmp_path / "a.onnx"), tmp_path / "b.onnx", 0) is None
    assert nudged_copy(tiny.mlp_external(tmp_path), tmp_path / "b.onnx", 0) is None
    assert not (tmp_path / "b.onnx").exists()


def test_a_missing_model_is_a_model_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        nudged_copy(tmp_path / "no.onnx", tmp_path / "b.onnx", 0)
