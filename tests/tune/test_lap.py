from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from hotlap.errors import StorageError, UsageError
from hotlap.tune.lap import check_destination, check_reference, new_folder


def make_lap(folder: Path, text: str = "old") -> Path:
    folder.mkdir()
    (folder / "plan.toml").write_text(text)
    return folder


def test_a_new_name_is_fine_and_so_is_an_empty_folder(tmp_path: Path) -> None:
    check_destination(tmp_path / "m.lap", force=False)
    (tmp_path / "empty.lap").mkdir()
    check_destination(tmp_path / "empty.lap", force=False)


def test_an_older_lap_is_kept_unless_told_otherwise(tmp_path: Path) -> None:
    make_lap(tmp_path / "m.lap")
    with pytest.raises(UsageError, match=r"m\.lap: exists; name another or say --force"):
        check_destination(tmp_path / "m.lap", force=False)
    check_destination(tmp_path / "m.lap", force=True)


def test_a_folder_that_is_no_lap_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.txt").write_text("years of work")
    with pytest.raises(UsageError, match="no lap folder"):
        check_destination(tmp_path / "thesis", force=True)
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="no lap folder"):
        check_destination(tmp_path / "file", force=True)
    make_lap(tmp_path / "real.lap")
    (tmp_path / "link.lap").symlink_to(tmp_path / "real.lap")
    with pytest.raises(UsageError, match="no lap folder"):
        check_destination(tmp_path / "link.lap", force=True)


def test_no_folder_to_put_it_in(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no folder"):
        check_destination(tmp_path / "missing" / "m.lap", force=False)


def test_the_folder_appears_whole_at_the_end(tmp_path: Path) -> None:
    out = tmp_path / "m.lap"
    with new_folder(out, force=False) as building:
        (building / "plan.toml").write_text("new")
        assert not out.exists()
    assert (out / "plan.toml").read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["m.lap"]
    assert out.stat().st_mode & 0o777 == 0o755


def test_nothing_is_left_when_the_block_fails(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "m.lap", force=False) as building:
        (building / "plan.toml").write_text("half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_one_clear_line_and_the_old_lap_stays(tmp_path: Path) -> None:
    old = make_lap(tmp_path / "m.lap")
    with pytest.raises(StorageError, match="no space is left"), new_folder(old, force=True):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert (old / "plan.toml").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["m.lap"]


def test_an_older_lap_is_replaced_only_by_a_whole_one(tmp_path: Path) -> None:
    old = make_lap(tmp_path / "m.lap")
    with new_folder(old, force=True) as building:
        (building / "plan.toml").write_text("new")
        assert (old / "plan.toml").read_text() == "old"
    assert (old / "plan.toml").read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["m.lap"]


def test_when_the_new_one_cannot_be_moved_the_old_one_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = make_lap(tmp_path / "m.lap")
    rename = Path.rename

    def refuse(self: Path, target: Path) -> Path:
        if self.name.startswith(".hotlap-lap-") and target == old:
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(StorageError), new_folder(old, force=True) as building:
        (building / "plan.toml").write_text("new")
    assert (old / "plan.toml").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["m.lap"]


def test_what_came_to_lie_there_meanwhile_is_kept(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="exists; name another or say --force"):  # noqa: SIM117
        with new_folder(tmp_path / "m.lap", force=False):
            make_lap(tmp_path / "m.lap", "another tuning's")
    assert (tmp_path / "m.lap" / "plan.toml").read_text() == "another tuning's"
    with pytest.raises(UsageError, match="no lap folder"), new_folder(tmp_path / "n.lap", force=True):
        (tmp_path / "n.lap").mkdir()
        (tmp_path / "n.lap" / "thesis.txt").write_text("years of work")
    assert (tmp_path / "n.lap" / "thesis.txt").read_text() == "years of work"
    assert {p.name for p in tmp_path.iterdir()} == {"m.lap", "n.lap"}


def test_an_interrupt_between_the_two_renames_brings_the_old_one_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = make_lap(tmp_path / "m.lap")
    rename = Path.rename

    def interrupted(self: Path, target: Path) -> Path:
        if self.name.startswith(".hotlap-lap-"):
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt), new_folder(old, force=True) as building:
        (building / "plan.toml").write_text("new")
    assert (old / "plan.toml").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["m.lap"]


def test_a_folder_that_cannot_be_moved_leaves_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make_lap(tmp_path / "m.lap"))
    with pytest.raises(StorageError), new_folder(Path(), force=True) as building:
        (building / "plan.toml").write_text("new")
    assert [p.name for p in tmp_path.rglob("*")] == ["m.lap", "plan.toml"]


def test_names_as_long_as_can_be_and_longer(tmp_path: Path) -> None:
    with new_folder(tmp_path / ("m" * 251 + ".lap"), force=False) as building:
        (building / "plan.toml").write_text("new")
    with pytest.raises(StorageError, match="too long"):
        check_destination(tmp_path / ("m" * 300), force=False)


def test_a_model_in_the_folder_that_is_replaced_cannot_be_pointed_to(tmp_path: Path) -> None:
    old = make_lap(tmp_path / "m.lap")
    check_reference(old, [tmp_path / "model.onnx"])
    with pytest.raises(UsageError, match="would delete it"):
        check_reference(old, [old / "model.onnx"])
