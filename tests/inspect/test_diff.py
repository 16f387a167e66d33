from __future__ import annotations

from pathlib import Path

import pytest

from hotlap.errors import ModelError
from hotlap.inspect.diff import diff_files
from hotlap.model.diff import Change
from tests import tiny


def test_two_files_down_to_the_weights(tmp_path: Path) -> None:
    a = tiny.save(tiny.mlp(), tmp_path / "a.onnx")
    b = tiny.save(tiny.mlp(hidden=8), tmp_path / "b.onnx")
    found = diff_files(a, b)
    assert (found.before, found.after, found.identical) == (str(a), str(b), False)
    assert [c.name for c in found.weights] == ["w1", "b1", "w2", "b2"]
    assert found.cost[0] == Change(name="multiply-adds", before="640*batch", after="160*batch")


def test_a_model_without_its_weights_is_compared_as_far_as_can_be(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    a = tiny.save(tiny.external_at("w.bin"), whole / "m.onnx")
    (whole / "w.bin").write_bytes(bytes(16))
    b = tiny.save(tiny.external_at("w.bin"), tmp_path / "m.onnx")
    found = diff_files(a, b)
    assert not found.identical and not found.nothing
    ((external,), (weight,)) = found.external, found.weights
    assert str(external.before).startswith("16 bytes, sha256:") and external.after == "not readable"
    assert weight.after == "float32[4] not readable"


def test_a_file_that_is_no_model_is_told(tmp_path: Path) -> None:
    a = tiny.save(tiny.mlp(), tmp_path / "a.onnx")
    with pytest.raises(ModelError, match="no such file"):
        diff_files(a, tmp_path / "b.onnx")
