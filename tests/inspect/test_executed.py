from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from hotlap.errors import ModelError, StorageError, UsageError
from hotlap.inspect import executed, inspect
from hotlap.inspect.executed import STAMP, write_executed
from hotlap.model import Model
from hotlap.runtime import default_session
from tests import tiny


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny.save(tiny.conv(), tmp_path / "m.onnx")


def test_it_is_a_valid_file_that_says_what_it_is_bound_to(tmp_path: Path, model: Path) -> None:
    out = write_executed(model, tmp_path / "out.onnx")
    written = onnx.load(out)
    onnx.checker.check_model(written)
    stamp = {p.key: p.value for p in written.metadata_props if p.key.startswith(STAMP)}
    assert stamp[f"{STAMP}source"] == Model.load(model).digest
    assert stamp[f"{STAMP}level"] == "ORT_ENABLE_ALL"
    keys = ("note", "onnxruntime", "level", "features", "providers", "source")
    assert set(stamp) == {f"{STAMP}{key}" for key in keys}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.onnx", "out.onnx"]


def test_it_answers_as_the_model_does_here_and_is_known_for_what_it_is(tmp_path: Path, model: Path) -> None:
    out = write_executed(model, tmp_path / "out.onnx")
    feed = {"x": np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32)}
    np.testing.assert_allclose(
        default_session(out).run(feed)["y"], default_session(model).run(feed)["y"], rtol=1e-4, atol=1e-5
    )
    findings = [f for f in inspect(out, probe=False).findings if f.code == "HL304"]
    assert findings[0].severity == "warning"


def test_large_weights_lie_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executed, "APART", 0)
    model = tiny.save(tiny.mlp(features=64, hidden=64), tmp_path / "m.onnx")
    out = write_executed(model, tmp_path / "out.onnx")
    assert {p.name for p in tmp_path.iterdir()} == {"m.onnx", "out.onnx", "out.onnx.data"}
    feed = {"x": np.ones((1, 64), np.float32)}
    theirs, ours = default_session(model).run(feed)["y"], default_session(out).run(feed)["y"]
    np.testing.assert_allclose(ours, theirs, rtol=1e-4)


def test_the_model_itself_is_never_overwritten(tmp_path: Path) -> None:
    path = tiny.mlp_external(tmp_path)
    before = {p: p.read_bytes() for p in tmp_path.iterdir()}
    link = tmp_path / "link.onnx"
    link.symlink_to(path)
    for out in (path, link, tmp_path / "model.onnx.data"):
        with pytest.raises(UsageError, match="would overwrite the model itself"):
            write_executed(path, out)
    link.unlink()
    assert {p: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_nothing_is_left_where_it_cannot_be_written(tmp_path: Path, model: Path) -> None:
    with pytest.raises(StorageError):
        write_executed(model, tmp_path / "no" / "out.onnx")
    with pytest.raises(StorageError, match="a folder of that name"):
        write_executed(model, "")
    refused = tiny.save(tiny.unknown_operator(), tmp_path / "u.onnx")
    with pytest.raises(ModelError, match=r"cannot be written: .*example\.com"):
        write_executed(refused, tmp_path / "out.onnx")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.onnx", "u.onnx"]
