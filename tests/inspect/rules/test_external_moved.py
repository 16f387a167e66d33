from __future__ import annotations

from pathlib import Path

from hotlap.inspect.rules import external_moved
from tests import tiny
from tests.inspect.cases import found


def test_a_file_that_lies_deeper_is_an_error_that_says_where(tmp_path: Path) -> None:
    path = tiny.mlp_external(tmp_path)
    (tmp_path / "weights").mkdir()
    (tmp_path / "model.onnx.data").rename(tmp_path / "weights" / "model.onnx.data")
    (finding,) = found(external_moved, path, tmp_path)
    assert finding.severity == "error"
    assert finding.fix == (
        f'move "{Path("weights") / "model.onnx.data"}" to "model.onnx.data", as the model names it'
    )


def test_a_file_in_its_place_is_none(tmp_path: Path) -> None:
    assert found(external_moved, tiny.mlp_external(tmp_path), tmp_path) == []
