from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hotlap.bench import save_feeds
from hotlap.errors import InputError, UsageError
from hotlap.verify.given import given_data, given_labels
from hotlap.verify.source import FeedSource


def test_inputs_are_files_or_a_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    feeds = [{"x": np.full((2, 3), n)} for n in range(2)]
    save_feeds(tmp_path / "data", feeds)
    whole = given_data("data")
    assert isinstance(whole, list) and [f["x"][0, 0] for f in whole] == [0, 1]
    assert len(given_data("data", rows=True)) == 4  # type: ignore[arg-type]
    assert given_data("my.feeds:make") == FeedSource(function="my.feeds:make", folder=str(tmp_path))
    with pytest.raises(UsageError, match="no such file or folder"):
        given_data("nothing")


@pytest.mark.parametrize("kind", ["npy", "npz", "json", "txt"])
def test_labels_come_from_every_kind_of_file(tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"labels.{kind}"
    match kind:
        case "npy":
            np.save(file, np.array([3, 4]))
        case "npz":
            np.savez(file, labels=np.array([3, 4]))
        case "json":
            file.write_text("[3, 4]")
        case _:
            file.write_text("3\n4\n")
    assert list(map(int, given_labels(str(file), None))) == [3, 4]


def test_a_column_of_the_inputs_can_be_the_labels() -> None:
    data: list[dict[str, Any]] = [{"x": np.zeros(1), "label": np.array([n])} for n in (5, 6)]
    assert given_labels("label", data) == [5, 6]
    assert [list(feed) for feed in data] == [["x"], ["x"]]
    with pytest.raises(UsageError, match=r'no file "y", and no input of that name'):
        given_labels("y", data)


def test_a_column_has_one_label_for_each_row_of_all_inputs() -> None:
    data = [{"x": np.zeros(n), "label": np.arange(n)} for n in (32, 1)]
    assert [label.tolist() for label in given_labels("label", data)] == [list(range(32)), [0]]
    assert [list(feed) for feed in data] == [["x"], ["x"]]


def test_a_label_without_an_axis_is_one_for_its_input() -> None:
    data = [{"x": np.zeros(4), "label": np.array(n)} for n in (5, 6)]
    assert given_labels("label", data) == [5, 6]


def test_what_is_no_list_of_labels_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "two.npz", a=np.zeros(1), b=np.zeros(1))
    (tmp_path / "map.json").write_text('{"a": 1}')
    (tmp_path / "bad.json").write_text("[1")
    for name, said in (
        ("two.npz", "holds 2 arrays"),
        ("map.json", "holds dict"),
        ("bad.json", "not readable"),
    ):
        with pytest.raises(InputError, match=said):
            given_labels(str(tmp_path / name), None)
