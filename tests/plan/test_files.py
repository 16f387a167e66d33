from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from hotlap.errors import StorageError, UsageError
from hotlap.plan.files import check_apart, check_writable, storage_error, write_whole


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_bytes_are_written_whole_and_an_old_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    write_whole(path, b"first")
    write_whole(str(path), b"second")
    assert path.read_bytes() == b"second"
    assert names(tmp_path) == ["a.bin"]


def test_a_function_may_write(tmp_path: Path) -> None:
    def data(file: BinaryIO) -> None:
        file.write(b"one ")
        file.write(b"two")

    write_whole(tmp_path / "a", data)
    assert (tmp_path / "a").read_bytes() == b"one two"


def test_when_the_function_fails_the_old_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def data(file: BinaryIO) -> None:
        file.write(b"half")
        raise KeyError("no more")

    with pytest.raises(KeyError):
        write_whole(path, data)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_the_mode_is_as_usual_or_as_it_was(tmp_path: Path) -> None:
    plain, path = tmp_path / "plain", tmp_path / "a"
    plain.write_bytes(b"")
    write_whole(path, b"x")
    assert path.stat().st_mode == plain.stat().st_mode
    path.chmod(0o640)
    write_whole(path, b"y")
    assert path.stat().st_mode & 0o777 == (0o640 if os.name == "posix" else 0o666)


def test_a_symbolic_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real" / "a")
    write_whole(link, b"x")
    assert link.is_symlink() and (tmp_path / "real" / "a").read_bytes() == b"x"


def test_a_name_as_long_as_the_file_system_allows(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    write_whole(path, b"x")
    assert path.read_bytes() == b"x"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("missing/a", "the folder does not exist; make it first"),
        ("file/a", "a part of the path is a file, not a folder"),
        ("folder", "a folder of that name is in the way"),
        ("n" * 256, "the name is too long for the file system"),
        ("zero\0byte", "no file can have this name"),
    ],
)
def test_a_place_that_cannot_be_written_says_why(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match=f"not written: {said}"):
        write_whole(tmp_path / name, b"x")
    assert names(tmp_path) == ["file", "folder"]


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "the disk is full; make room"),
        (errno.EACCES, "permission denied; write somewhere else"),
        (errno.EROFS, "the file system is read-only"),
        (getattr(errno, "EDQUOT", errno.ENOSPC), "make room"),
        (errno.EIO, os.strerror(errno.EIO)),
    ],
)
def test_each_error_says_what_to_do(number: int, said: str) -> None:
    text = str(storage_error("there/a", OSError(number, os.strerror(number))))
    assert text.startswith("there/a: not written: ") and said in text


# The disk is really full: by a limit on file sizes in a child process, and by a tiny file system.

TRIES_TO_WRITE = """
import sys
from hotlap.errors import StorageError
from hotlap.plan.files import write_whole
try:
    write_whole(sys.argv[1], b"x" * 200_000)
except StorageError as error:
    print(error)
"""


def tried(path: Path, before: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-c", before + TRIES_TO_WRITE, str(path)], capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.skipif(os.name != "posix", reason="limits on file sizes are a thing of Unix")
def test_a_limit_on_file_sizes_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    limit = (
        "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
    )
    assert f"{path}: not written: the file is larger than" in tried(path, limit)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    try:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs the right to mount a tiny file system; the limit on file sizes is tested instead")
    try:
        (disk / "a").write_bytes(b"old")
        assert f"{disk / 'a'}: not written: the disk is full; make room" in tried(disk / "a")
        assert (disk / "a").read_bytes() == b"old"
        assert names(disk) == ["a"]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_what_could_not_be_written_is_told_beforehand(tmp_path: Path) -> None:
    check_writable(tmp_path / "new.json")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StorageError, match="does not exist"):
        check_writable(tmp_path / "none" / "x.json")
    with pytest.raises(StorageError, match="a folder of that name"):
        check_writable(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("write", [check_writable, lambda path: write_whole(path, b"x")])
def test_what_is_no_file_is_not_replaced_by_one(tmp_path: Path, write: Callable[[Path], None]) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        with pytest.raises(StorageError, match="it is a device, a pipe or a socket; name a file"):
            write(path)
    assert pipe.is_fifo() and link.is_symlink()
    assert names(tmp_path) == ["link", "pipe"]


def test_what_is_read_is_not_written_over(tmp_path: Path) -> None:
    model, data = tmp_path / "m.onnx", tmp_path / "data"
    model.write_bytes(b"model")
    data.mkdir()
    (data / "0.npz").write_bytes(b"feed")
    link = tmp_path / "link"
    link.symlink_to(model)
    for path in (model, link, data / "0.npz"):
        with pytest.raises(UsageError, match="is what is read here; name another file to write"):
            check_apart(path, [model, data])
    for path in (tmp_path / "new", data / "new.npz"):
        check_apart(path, [model, data, tmp_path / "missing"])
