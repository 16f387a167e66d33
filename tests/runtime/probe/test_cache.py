from __future__ import annotations

import logging
import os
import stat
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hotlap.plan import Facts, StuckAxis
from hotlap.runtime.probe import cache
from hotlap.runtime.probe.cache import Key, cache_folder, read, write

KEY = Key(model="sha256:" + "0" * 64, onnxruntime="1.32.0", providers=("cpu",), seconds=8.0)
FACTS = Facts(
    rows="independent",
    axes={"x": 0},
    stuck=(StuckAxis(input="x", axis=1, works=(1,), fails=(2,)),),
    shapes={"y": ("?", 1)},
    seconds={"1": 0.5},
)
posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOTLAP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "facts"


def test_what_is_written_is_read_by_its_key_alone(folder: Path) -> None:
    assert read(KEY) is None
    write(KEY, FACTS)
    assert read(KEY) == FACTS
    assert [p.name for p in folder.iterdir()] == [KEY.file_name]
    changes: list[dict[str, Any]] = [
        {"model": "sha256:" + "1" * 64},
        {"external": {"w.bin": "sha256:" + "0" * 64}},
        {"onnxruntime": "1.33.0"},
        {"providers": ("openvino", "cpu")},
        {"limits": {"ids": 9}},
        {"seconds": 9.0},
        {"format": 1},
    ]
    for change in changes:
        assert read(msgspec.structs.replace(KEY, **change)) is None


def test_equal_keys_have_one_file() -> None:
    one = msgspec.structs.replace(KEY, limits={"a": 1, "b": 2})
    other = msgspec.structs.replace(KEY, limits={"b": 2, "a": 1})
    assert one.file_name == other.file_name


def test_the_second_writer_loses_quietly() -> None:
    write(KEY, FACTS)
    write(KEY, Facts(rows="dependent"))
    assert read(KEY) == FACTS


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 50_000,
        b"x" * 100_000,
        b'{"key":{},"facts":{}}',
        msgspec.json.encode({"key": KEY, "facts": {"rows": "safe"}}),
        msgspec.json.encode({"key": KEY, "facts": {"axes": {"x": -1}}}),
        msgspec.json.encode({"key": KEY, "facts": {"new": 1}}),
        msgspec.json.encode({"key": msgspec.structs.replace(KEY, seconds=1.0), "facts": FACTS}),
    ],
)
def test_a_broken_or_foreign_entry_is_ignored_and_written_anew(folder: Path, broken: bytes) -> None:
    write(KEY, FACTS)
    (folder / KEY.file_name).write_bytes(broken)
    assert read(KEY) is None
    write(KEY, FACTS)
    assert read(KEY) == FACTS


@posix
def test_folder_and_files_are_closed_to_others(folder: Path) -> None:
    before = os.umask(0)
    try:
        write(KEY, FACTS)
    finally:
        os.umask(before)
    assert [stat.S_IMODE(p.stat().st_mode) for p in (folder.parent, folder)] == [0o700] * 2
    assert stat.S_IMODE((folder / KEY.file_name).stat().st_mode) == 0o600


@posix
def test_a_folder_that_others_may_write_to_is_not_used(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(KEY, FACTS)
    folder.chmod(0o770)
    with caplog.at_level(logging.WARNING):
        assert read(KEY) is None
        write(msgspec.structs.replace(KEY, seconds=1.0), FACTS)
    assert len(list(folder.iterdir())) == 1
    assert "not used: it must be a folder of this user's own, closed to others (chmod 700)" in caplog.text


@posix
def test_a_folder_or_a_file_of_another_user_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(KEY, FACTS)
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    assert read(KEY) is None


@posix
def test_links_are_not_followed(folder: Path, tmp_path: Path) -> None:
    write(KEY, FACTS)
    entry = folder / KEY.file_name
    entry.rename(tmp_path / "elsewhere.json")
    entry.symlink_to(tmp_path / "elsewhere.json")
    assert read(KEY) is None
    write(KEY, FACTS)
    assert read(KEY) == FACTS and not entry.is_symlink()
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "moved")
    assert read(KEY) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_waited_for(folder: Path) -> None:
    write(KEY, FACTS)
    (folder / KEY.file_name).unlink()
    os.mkfifo(folder / KEY.file_name)
    assert read(KEY) is None


def test_what_cannot_be_kept_is_said_in_the_log(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cache").write_text("a file in the way")
    with caplog.at_level(logging.INFO):
        write(KEY, FACTS)
    assert "facts are not kept" in caplog.text
    assert read(KEY) is None


def test_the_oldest_make_room(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_MOST", 3)
    keys = [msgspec.structs.replace(KEY, seconds=float(n)) for n in range(5)]
    write(keys[0], FACTS)
    (folder / "notes.txt").write_text("not ours")
    for age, key in enumerate(keys):
        write(key, FACTS)
        os.utime(folder / key.file_name, (age, age))
    write(msgspec.structs.replace(KEY, seconds=99.0), FACTS)
    assert [read(k) is None for k in keys] == [True, True, True, False, False]
    assert (folder / "notes.txt").exists()


@pytest.mark.parametrize(
    ("platform", "environment", "place"),
    [
        ("linux", {"HOTLAP_CACHE": "/c"}, "/c/facts"),
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/hotlap/facts"),
        ("linux", {"XDG_CACHE_HOME": "not/absolute"}, "/home/me/.cache/hotlap/facts"),
        ("linux", {}, "/home/me/.cache/hotlap/facts"),
        ("darwin", {"XDG_CACHE_HOME": "/x"}, "/home/me/Library/Caches/hotlap/facts"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/hotlap/facts"),
        ("win32", {}, "/home/me/AppData/Local/hotlap/facts"),
    ],
)
@posix
def test_each_system_has_a_place(
    platform: str, environment: dict[str, str], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOTLAP_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setattr(sys, "platform", platform)
    assert cache_folder() == Path(place)


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOTLAP_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)

    def nowhere() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", nowhere)
    assert cache_folder() is None
    assert read(KEY) is None
    write(KEY, FACTS)
