from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from hotlap import Model
from hotlap.errors import ModelError, StorageError
from hotlap.runtime import default_session, file_digest, make_feed
from tests import tiny


@pytest.fixture
def model(tmp_path: Path) -> Model:
    source = tmp_path / "source"
    source.mkdir()
    return Model.load(tiny.mlp_external(source))


def test_it_says_what_the_file_is(tmp_path: Path) -> None:
    path = tiny.save(tiny.mlp(), tmp_path / "m.onnx")
    model = Model.load(str(path))
    assert repr(model) == "<Model m.onnx: x float32[batch, 16] -> y float32[batch, 4]>"
    assert (model.opset, model.ir_version, model.producer) == ({"": 17}, 9, "tiny")
    assert (model.size, model.digest) == (path.stat().st_size, file_digest(path))
    assert (model.external, model.files()) == ({}, [path])


def test_external_weights_count_and_are_hashed(model: Model) -> None:
    data = model.path.with_name("model.onnx.data")
    assert model.files() == [model.path, data]
    assert model.size == model.path.stat().st_size + data.stat().st_size
    assert model.external["model.onnx.data"].size == data.stat().st_size
    assert model.external["model.onnx.data"].digest == file_digest(data)
    reference = model.reference("model.onnx")
    assert (reference.path, reference.digest, reference.external) == (
        "model.onnx",
        model.digest,
        model.external,
    )


def test_reading_the_signature_reads_no_weights(tmp_path: Path) -> None:
    path = tiny.save(tiny.external_at("w.bin"), tmp_path / "m.onnx")
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(1 << 40)  # a sparse file of a terabyte, which nobody could read
    assert Model.load(path).size > 1 << 40


def test_id_limits_are_those_of_integer_inputs(tmp_path: Path) -> None:
    model = Model.load(tiny.save(tiny.gather_mask(), tmp_path / "m.onnx"))
    assert model.id_limits() == {"ids": 100}


def test_what_is_missing_is_a_model_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such file"):
        Model.load(tmp_path / "m.onnx")
    with pytest.raises(ModelError, match="is missing"):
        Model.load(tiny.save(tiny.external_at("w.bin"), tmp_path / "m.onnx"))


def test_a_model_without_its_weights_can_be_looked_at_but_not_saved(tmp_path: Path) -> None:
    model = Model.load(tiny.save(tiny.external_at("w.bin"), tmp_path / "m.onnx"), external="report")
    (problem,) = model.external_problems
    assert (problem.kind, problem.location) == ("missing", "w.bin")
    assert [n.op for n in model.walk.nodes()] == ["Add"]
    assert model.files() == [model.path] and model.size == model.path.stat().st_size
    with pytest.raises(ModelError, match="is missing"):
        model.save(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


# ── saving ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("link", [True, False])
def test_a_saved_model_is_whole_and_runs(model: Model, tmp_path: Path, link: bool) -> None:
    folder = tmp_path / "new" / "lap"
    saved = model.save(folder, link=link)
    assert saved == folder / "model.onnx"
    assert sorted(p.name for p in folder.iterdir()) == ["model.onnx", "model.onnx.data"]
    assert saved.samefile(model.path) == link
    session = default_session(saved)
    assert session.run(make_feed(session.inputs))["y"].shape == (1, 4)


def test_where_links_are_not_to_be_had_it_is_copied(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, target: Any) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    saved = model.save(tmp_path / "lap")
    assert not saved.samefile(model.path)
    assert saved.read_bytes() == model.path.read_bytes()


def test_a_linked_source_is_followed(tmp_path: Path) -> None:
    real = tiny.save(tiny.add(), tmp_path / "real.onnx")
    link = tmp_path / "link.onnx"
    link.symlink_to(real)
    saved = Model.load(link).save(tmp_path / "lap")
    assert not saved.is_symlink()
    assert saved.read_bytes() == real.read_bytes()


def test_what_was_there_is_replaced_and_what_lies_there_already_stays(model: Model, tmp_path: Path) -> None:
    folder = tmp_path / "lap"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"old")
    saved = model.save(folder)
    assert saved.read_bytes() == model.path.read_bytes()
    again = Model.load(saved).save(folder)
    assert again.read_bytes() == model.path.read_bytes()


def test_a_full_disk_leaves_nothing_half_written(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "lap"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"old")
    copy = shutil.copyfile

    def full(source: Any, target: Any) -> Any:
        if str(source).endswith(".data"):
            Path(target).write_bytes(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))
        return copy(source, target)

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(StorageError, match="the disk is full"):
        model.save(folder, link=False)
    assert [p.name for p in folder.iterdir()] == ["model.onnx"]
    assert (folder / "model.onnx").read_bytes() == b"old"


def test_a_folder_that_cannot_be_made_is_a_storage_error(model: Model, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError):
        model.save(tmp_path / "file" / "lap")
