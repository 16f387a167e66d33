from __future__ import annotations

import errno
import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.cli.arrays import file_names, plain, read_inputs, write_outputs
from hotlap.errors import InputError, StorageError, UsageError
from hotlap.tensors import TensorSpec

X = np.arange(6, dtype=np.float32).reshape(2, 3)
SPECS = [TensorSpec.of("x", "float32", [None, 3]), TensorSpec.of("a=b", "float32", [None])]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def npy(header: str, data: bytes = b"") -> bytes:
    """A .npy file with a header of one's own."""
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


# ── reading ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "array", [X, np.asfortranarray(X), X.astype(">f8"), np.float32(1.5), np.array(["ä", "b"])]
)
def test_npy_files_come_as_they_are(folder: Path, array: Any) -> None:
    np.save("x.npy", array)
    read = read_inputs(["x=x.npy"], SPECS)["x"]
    assert (read.dtype, read.shape) == (array.dtype, array.shape)
    assert np.array_equal(read, array)


def test_npz_files_give_names_or_the_one_that_is_asked_for(folder: Path) -> None:
    np.savez_compressed("feeds.npz", x=X, y=X[0])
    assert set(read_inputs(["feeds.npz"], SPECS)) == {"x", "y"}
    assert np.array_equal(read_inputs(["y=feeds.npz"], SPECS)["y"], X[0])
    np.savez("one.npz", whatever=X)
    assert np.array_equal(read_inputs(["x=one.npz"], SPECS)["x"], X)
    with pytest.raises(InputError, match=r'feeds\.npz: holds no array "z"; it holds x, y'):
        read_inputs(["z=feeds.npz"], SPECS)


@pytest.mark.parametrize(
    ("text", "feed"),
    [
        ("x=[[1, 2.5]]", {"x": [[1, 2.5]]}),
        ("x=7", {"x": 7}),
        ('x=["a", "b"]', {"x": ["a", "b"]}),
        ("x=true", {"x": True}),
        ("a=b=[1]", {"a=b": [1]}),
        ('unknown="x=y"', {"unknown": "x=y"}),
    ],
)
def test_json_and_names_with_an_equals_sign(text: str, feed: dict[str, Any]) -> None:
    assert read_inputs([text], SPECS) == feed


@pytest.mark.parametrize(
    ("texts", "line"),
    [
        (["x"], 'input "x": say NAME=FILE.npy'),
        (["x=hello"], r'"hello" is no \.npy or \.npz file and no JSON'),
        (["x=[1,"], "no JSON"),
        (["x=" + "[" * 100_000], "no JSON"),
        (["x=1", "x=2"], 'input "x" is given twice'),
    ],
)
def test_what_has_no_known_form_is_a_usage_error(texts: list[str], line: str) -> None:
    with pytest.raises(UsageError, match=line) as caught:
        read_inputs(texts, SPECS)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"", "not a readable .npy array"),
        (b"hello", "not a readable .npy array"),
        (
            npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000, 8)}", bytes(64)),
            "cut short",
        ),
        (
            npy("{'descr': '<f4', 'fortran_order': False, 'shape': (17,)}", bytes(64)),
            "cut short: its header says",
        ),
        (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-4,)}", bytes(64)), "not a readable"),
        (npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", bytes(64)), "never unpickled"),
        (npy("{'descr': '<f4'}", bytes(64)), "not a readable"),
        (npy("[" * 2000, bytes(64)), "not a readable"),
    ],
)
def test_broken_and_hostile_files_are_one_clear_line(folder: Path, data: bytes, line: str) -> None:
    (folder / "x.npy").write_bytes(data)
    with pytest.raises(InputError, match=line) as caught:
        read_inputs(["x=x.npy"], SPECS)
    assert "\n" not in str(caught.value)
    with zipfile.ZipFile("x.npz", "w") as archive:
        archive.writestr("x.npy", data)
    with pytest.raises(InputError, match=line):
        read_inputs(["x.npz"], SPECS)


def test_a_missing_or_broken_archive_is_told(folder: Path) -> None:
    with pytest.raises(InputError, match=r"x\.npy: cannot be read: No such file"):
        read_inputs(["x=x.npy"], SPECS)
    with pytest.raises(InputError, match=r"f\.npz: cannot be read: No such file"):
        read_inputs(["f.npz"], SPECS)
    Path("f.npz").write_bytes(b"hello")
    with pytest.raises(InputError, match=r"not a readable \.npz"):
        read_inputs(["f.npz"], SPECS)


@given(st.binary(max_size=200))
def test_no_bytes_make_reading_fail_otherwise(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "random.npy"
    path.write_bytes(b"\x93NUMPY" + data)
    with pytest.raises(InputError):
        read_inputs([f"x={path}"], SPECS)


# ── writing ───────────────────────────────────────────────────────────────────────────────────────────


def test_each_output_is_a_file_that_reads_back(tmp_path: Path) -> None:
    results = {
        "y": X,
        "label": np.array(["ä", "b"], object),
        "scores": [{0: np.float32(0.5)}],
        "n": np.int64(3),
    }
    files = write_outputs(tmp_path / "new" / "out", results)
    assert np.array_equal(np.load(files["y"]), X)
    assert np.load(files["label"], allow_pickle=False).tolist() == ["ä", "b"]
    assert json.loads(files["scores"].read_text()) == [{"0": 0.5}]
    assert {f.parent for f in files.values()} == {tmp_path / "new" / "out"}


@pytest.mark.parametrize(
    ("names", "files"),
    [
        (["y"], ["y"]),
        (["../../x", "a/b", "/etc/passwd", "..\\x"], ["x", "a_b", "etc_passwd", "x-2"]),
        (["", ".", "..", " "], ["output", "output-2", "output-3", "output-4"]),
        (["a/b", "a_b", "A_B"], ["a_b", "a_b-2", "A_B-3"]),
        (["CON", "nul.npy"], ["output_CON", "output_nul.npy"]),
        (["x" * 500], ["x" * 100]),
        (["模型"], ["output"]),
    ],
)
def test_names_of_the_models_author_become_safe_and_stay_apart(names: list[str], files: list[str]) -> None:
    assert list(file_names(names).values()) == files


@given(st.lists(st.text(), unique=True))
def test_no_name_leaves_the_folder_or_takes_anothers_file(names: list[str]) -> None:
    files = file_names(names)
    assert list(files) == names
    assert len({f.casefold() for f in files.values()}) == len(names)
    assert all(Path(f).name == f and not f.startswith(".") for f in files.values())


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_outputs(tmp_path, {"a": X})
    write = np.lib.format.write_array

    def full(file: Any, array: Any, **named: Any) -> None:
        if array.size == 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(file, array, **named)

    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(StorageError, match="the disk is full"):
        write_outputs(tmp_path, {"a": X + 1, "b": X[:1, :1]})
    assert [p.name for p in tmp_path.iterdir()] == ["a.npy"]
    assert np.array_equal(np.load(tmp_path / "a.npy"), X)


def test_results_become_json() -> None:
    value = {"a": np.array([1.5, np.nan], np.float32), 1: [np.int64(2), "t", None, b"x"], "c": 1j}
    assert plain(value) == {"a": [1.5, "nan"], "1": [2, "t", None, "b'x'"], "c": "1j"}
    json.dumps(plain(value), allow_nan=False)


def test_an_array_read_from_a_file_is_the_callers_own(folder: Path) -> None:
    np.save("x.npy", X)
    array = read_inputs(["x=x.npy"], SPECS)["x"]
    array[:] = 0
    assert np.array_equal(np.load(io.BytesIO(Path("x.npy").read_bytes())), X)


def test_a_disk_that_fills_up_is_said_and_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def short(*_: Any, **__: Any) -> None:
        raise OSError("4032 requested and 2016 written")  # as numpy says it

    monkeypatch.setattr(np.lib.format, "write_array", short)
    with pytest.raises(StorageError, match="the disk is full"):
        write_outputs(tmp_path / "out", {"y": X})
    assert list(tmp_path.iterdir()) == []
