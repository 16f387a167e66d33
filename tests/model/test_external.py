from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from hotlap.errors import ModelError
from hotlap.model.external import external_files, external_problems, found_files
from hotlap.model.graph import load_graph
from hotlap.plan import External
from hotlap.runtime import file_digest
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


# ── without raising ───────────────────────────────────────────────────────────────────────────────────


def problems(folder: Path, location: str, **entries: str) -> list[tuple[str, str, str]]:
    model = tiny.external_at(location)
    for key, value in entries.items():
        model.graph.initializer[0].external_data.add(key=key, value=value)
    path = tiny.save(model, folder / "m.onnx")
    found = external_problems(load_graph(path), path)
    assert all((p.location, p.tensor) == (location, "w") for p in found)
    return [(p.kind, p.said, p.elsewhere) for p in found]


def test_a_whole_file_is_no_problem(folder: Path) -> None:
    (folder / "w.bin").write_bytes(bytes(16))
    assert problems(folder, "w.bin") == []


def test_missing_and_unreadable_and_short(folder: Path) -> None:
    missing = f'its file of weights "w.bin" is missing from {folder}'
    assert problems(folder, "w.bin") == [("missing", missing, "")]
    (folder / "w.bin").mkdir()
    assert problems(folder, "w.bin") == [("unreadable", 'its file of weights "w.bin" is not a file', "")]
    (folder / "short.bin").write_bytes(bytes(15))
    short = 'its file of weights "short.bin" is cut short: weight "w" ends at byte 16 of 15'
    assert problems(folder, "short.bin") == [("cut short", short, "")]
    ((kind, said, _),) = problems(folder, "w\0.bin")
    assert kind == "unreadable" and "cannot be read" in said


@pytest.mark.parametrize(
    ("location", "lies"),
    [
        ("w.bin", "weights/w.bin"),
        ("/data/w.bin", "w.bin"),
        ("..\\..\\W.bin", "a/b/w.bin"),
        ("sub/w.bin", "w.bin"),
    ],
)
def test_a_file_of_that_name_elsewhere_in_the_folder_has_moved(
    folder: Path, location: str, lies: str
) -> None:
    (folder / lies).parent.mkdir(parents=True, exist_ok=True)
    (folder / lies).write_bytes(bytes(16))
    ((kind, said, elsewhere),) = problems(folder, location)
    assert (kind, elsewhere) == ("moved", lies)
    assert said.endswith(f'a file of that name lies at "{lies}"')


def test_outside_stays_outside(folder: Path) -> None:
    assert [p[0] for p in problems(folder, "../w.bin")] == ["outside"]
    (folder / "link.bin").symlink_to(folder.parent / "w.bin")
    assert [p[0] for p in problems(folder, "link.bin")] == ["outside"]
    assert [p[0] for p in problems(folder, "")] == ["outside"]


def test_a_link_out_of_the_folder_is_no_place_to_have_moved_to(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "w.bin").symlink_to(folder.parent / "w.bin")
    assert [p[0] for p in problems(folder, "w.bin")] == ["missing"]


def test_the_checksum_of_the_model_is_believed(folder: Path) -> None:
    (folder / "w.bin").write_bytes(bytes(16))
    right = hashlib.sha1(bytes(16)).hexdigest()
    assert (
        problems(folder, "w.bin", checksum=right) == problems(folder, "w.bin", checksum=right.upper()) == []
    )
    changed = 'its file of weights "w.bin" is not the one that it was saved with'
    assert problems(folder, "w.bin", checksum="0" * 40) == [("changed", changed, "")]


def test_so_is_what_a_plan_knows(folder: Path) -> None:
    file = folder / "w.bin"
    file.write_bytes(bytes(16))
    path = tiny.save(tiny.external_at("w.bin"), folder / "m.onnx")
    known = {"w.bin": External(size=16, digest=file_digest(file))}
    assert external_problems(load_graph(path), path, known) == ()
    file.write_bytes(bytes([1] * 16))
    assert [p.kind for p in external_problems(load_graph(path), path, known)] == ["changed"]


def test_a_file_has_one_problem_and_every_file_is_looked_at(folder: Path) -> None:
    model = tiny.external_at("a.bin")
    model.graph.initializer.append(tiny.external_at("a.bin").graph.initializer[0])
    model.graph.initializer.append(tiny.external_at("b.bin").graph.initializer[0])
    path = tiny.save(model, folder / "m.onnx")
    found = external_problems(load_graph(path), path)
    assert [(p.kind, p.location) for p in found] == [("missing", "a.bin"), ("missing", "b.bin")]


def test_the_files_that_are_there_are_found_beside_those_that_are_not(folder: Path) -> None:
    model = tiny.external_at("a.bin")
    model.graph.initializer.append(tiny.external_at("b.bin").graph.initializer[0])
    (folder / "b.bin").write_bytes(bytes(16))
    path = tiny.save(model, folder / "m.onnx")
    assert found_files(load_graph(path), path) == {"b.bin": folder / "b.bin"}


def test_a_weight_that_points_to_less_than_it_needs_is_unreadable(folder: Path) -> None:
    (folder / "w.bin").write_bytes(bytes(16))
    model = tiny.external_at("w.bin")
    model.graph.initializer[0].dims[:] = [5]
    path = tiny.save(model, folder / "m.onnx")
    (found,) = external_problems(load_graph(path), path)
    assert (found.kind, found.said) == ("unreadable", 'weight "w" needs 20 bytes and points to 16')


def test_a_folder_is_walked_once_however_many_files_are_missing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny.external_at("0.bin")
    for n in range(1, 30):
        model.graph.initializer.append(tiny.external_at(f"{n}.bin").graph.initializer[0])
    path = tiny.save(model, folder / "m.onnx")
    (folder / "sub").mkdir()
    (folder / "sub" / "7.bin").write_bytes(bytes(16))
    walked: list[Path] = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda at: walked.append(at) or scandir(at))
    found = external_problems(load_graph(path), path)
    assert walked == [folder, folder / "sub"]
    assert [p.elsewhere for p in found if p.kind == "moved"] == ["sub/7.bin"] and len(found) == 30
