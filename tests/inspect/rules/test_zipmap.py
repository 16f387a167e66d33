from __future__ import annotations

from pathlib import Path

from hotlap.inspect.rules import zipmap
from tests import tiny
from tests.inspect.cases import found


def test_zipmap_is_found(tmp_path: Path) -> None:
    (finding,) = found(zipmap, tiny.zipmap(), tmp_path)
    assert (finding.severity, finding.tensor) == ("warning", "scores")
    assert finding.node == 'ai.onnx.ml.ZipMap "→ scores"'
    assert finding.cost == "a Python dictionary of 2 entries for each row"
    assert finding.fix == "hotlap optimize MODEL --fix HL401 -o OUT.onnx"


def test_a_model_of_tensors_has_none(tmp_path: Path) -> None:
    assert found(zipmap, tiny.mlp(), tmp_path) == []
