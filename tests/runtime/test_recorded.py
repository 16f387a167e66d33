from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hotlap.runtime.recorded import CLAIM, RecordedFolder

# numpy parses the header of a file with ast, in which Python 3.11 loses count when threads take turns.
READS_BACK = pytest.mark.thread_unsafe(reason="it reads .npy files, and Python 3.11 has one ast at a time")


def test_each_gets_a_folder_that_nobody_else_has(tmp_path: Path) -> None:
    wanted = tmp_path / "deep" / "rec"
    assert [RecordedFolder(wanted).path.name for _ in range(3)] == ["rec", "rec-2", "rec-3"]
    assert json.loads((wanted / CLAIM).read_text())["format"] == 1


def test_a_folder_that_is_there_and_holds_no_recording_is_taken(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert RecordedFolder(tmp_path).path == tmp_path


@READS_BACK
def test_a_slot_is_written_anew_and_dropped_ones_go(tmp_path: Path) -> None:
    folder = RecordedFolder(tmp_path / "rec")
    for slot, value in ((0, 1), (1, 2), (0, 3)):
        folder.keep(slot, {"x": np.array([value])}, [])
    folder.keep(2, {"x": np.array([4])}, [1])
    folder.keep(3, {"x": np.array([5])}, [3])  # it did not fit
    feeds = folder.path / "feeds"
    assert sorted(p.name for p in feeds.iterdir()) == ["000000.npz", "000002.npz"]
    with np.load(feeds / "000000.npz") as first:
        assert first["x"].tolist() == [3]


def test_arrivals_are_appended_and_shapes_written_anew(tmp_path: Path) -> None:
    folder = RecordedFolder(tmp_path / "rec")
    folder.add_arrivals([0, 0.5])
    folder.add_arrivals([1.25])
    assert (folder.path / "arrivals.txt").read_text() == "0.000000\n0.500000\n1.250000\n"
    for count in (1, 7):
        folder.write_shapes([((("x", (1, 3)), ("y", ())), count)])
    written = json.loads((folder.path / "shapes.json").read_text())
    assert written == {"format": 1, "shapes": [{"count": 7, "shapes": {"x": [1, 3], "y": []}}]}


def test_a_file_in_the_way_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        RecordedFolder(tmp_path / "file" / "rec")
