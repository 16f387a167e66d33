from __future__ import annotations

from pathlib import Path

import pytest

from hotlap.errors import ModelError
from hotlap.model.external import external_files
from hotlap.model.graph import load_graph
from tests import tiny


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "model"
    inside.mkdir()
    (tmp_path / "w.bin").write_bytes(bytes(16))
    return inside


def check(folder: Path, location: str) -> dict[str, Path]:
    path = tiny.save(tiny.external_at(location), folder / "m.onnx")
    return external_files(load_graph(path), path)


def test_a_model_with_all_its_weights_has_none(folder: Path) -> None:
    path = tiny.save(tiny.mlp(), folder / "m.onnx")
    assert external_files(load_graph(path), path) == {}


def test_files_are_named_once(folder: Path) -> None:
    path = tiny.mlp_external(folder)
    assert external_files(load_graph(path), path) == {"model.onnx.data": folder / "model.onnx.data"}


def test_a_folder_inside_is_inside(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "w.bin").write_bytes(bytes(16))
    assert check(folder, "sub/w.bin") == {"sub/w.bin": folder / "sub" / "w.bin"}


@pytest.mark.parametrize(
    "location",
    [
        "../w.bin",
        "sub/../../w.bin",
        "..\\w.bin",
        "/etc/hostname",
        "C:\\w.bin",
        "\\\\host\\w.bin",
        "",
        "*/_ORT_MEM_ADDR_/*",
    ],
)
def test_places_outside_are_refused(folder: Path, location: str) -> None:
    with pytest.raises(ModelError, match="outside of its own folder: refused"):
        check(folder, location)


def test_a_link_that_leads_outside_is_refused(folder: Path) -> None:
    (folder / "w.bin").symlink_to(folder.parent / "w.bin")
    with pytest.raises(ModelError, match=r"links to .*outside of its folder: refused"):
        check(folder, "w.bin")


def test_a_link_inside_is_fine(folder: Path) -> None:
    (folder / "real.bin").write_bytes(bytes(16))
    (folder / "w.bin").symlink_to("real.bin")
    assert list(check(folder, "w.bin")) == ["w.bin"]


def test_a_missing_file_a_folder_and_a_short_file_are_told(folder: Path) -> None:
    with pytest.raises(ModelError, match=r'file of weights "w\.bin" is missing'):
        check(folder, "w.bin")
    (folder / "w.bin").mkdir()
    with pytest.raises(ModelError, match="is not a file"):
        check(folder, "w.bin")
    (folder / "short.bin").write_bytes(bytes(15))
    with pytest.raises(ModelError, match='cut short: weight "w" ends at byte 16 of 15'):
        check(folder, "short.bin")


def test_a_place_that_is_no_number_is_told(folder: Path) -> None:
    model = tiny.external_at("w.bin")
    model.graph.initializer[0].external_data[1].value = "much"
    path = tiny.save(model, folder / "m.onnx")
    with pytest.raises(ModelError, match='weight "w" has no readable place'):
        external_files(load_graph(path), path)
