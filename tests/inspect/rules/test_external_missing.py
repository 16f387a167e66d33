from __future__ import annotations

from pathlib import Path

from hotlap.inspect.rules import external_missing
from tests import tiny
from tests.inspect.cases import found


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    path = tiny.mlp_external(tmp_path)
    (tmp_path / "model.onnx.data").unlink()
    (finding,) = found(external_missing, path, tmp_path)
    assert (finding.severity, finding.tensor) == ("error", "w1")
    assert "model.onnx.data" in finding.message
    assert "missing" in finding.message


def test_a_file_that_is_there_is_none(tmp_path: Path) -> None:
    assert found(external_missing, tiny.mlp_external(tmp_path), tmp_path) == []
    assert found(external_missing, tiny.mlp(), tmp_path) == []
