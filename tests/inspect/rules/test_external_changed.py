from __future__ import annotations

import hashlib
from pathlib import Path

import onnx

from hotlap.inspect.rules import external_changed
from tests import tiny
from tests.inspect.cases import found


def with_checksum(folder: Path) -> Path:
    """The external `mlp`, in which each weight names its file's SHA1."""
    path = tiny.mlp_external(folder)
    model = onnx.load(path, load_external_data=False)
    digest = hashlib.sha1((folder / "model.onnx.data").read_bytes()).hexdigest()
    for tensor in model.graph.initializer:
        tensor.external_data.add(key="checksum", value=digest)
    return tiny.save(model, path)


def test_a_file_that_was_cut_short_is_an_error(tmp_path: Path) -> None:
    path = tiny.mlp_external(tmp_path)
    data = tmp_path / "model.onnx.data"
    data.write_bytes(data.read_bytes()[:100])
    (finding,) = found(external_changed, path, tmp_path)
    assert finding.severity == "error"
    assert "cut short" in finding.message


def test_a_file_with_another_checksum_is_an_error(tmp_path: Path) -> None:
    path = with_checksum(tmp_path)
    data = tmp_path / "model.onnx.data"
    data.write_bytes(bytes(len(data.read_bytes())))
    (finding,) = found(external_changed, path, tmp_path)
    assert finding.severity == "error"
    assert "model.onnx.data" in finding.message


def test_the_file_that_it_was_saved_with_is_none(tmp_path: Path) -> None:
    assert found(external_changed, with_checksum(tmp_path), tmp_path) == []
