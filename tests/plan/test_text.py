from __future__ import annotations

import os
from pathlib import Path

import pytest

from hotlap.errors import PlanError
from hotlap.plan.text import LARGEST, parse, read, written


def said_of(path: Path | str) -> str:
    with pytest.raises(PlanError) as caught:
        read(path)
    return str(caught.value)


def test_a_file_is_read_with_and_without_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_bytes(b"\xef\xbb\xbfthreads = 2\r\n")
    assert parse(read(path)) == {"threads": 2}
    path.write_bytes("# é\nthreads = 3".encode())
    assert parse(read(path)) == {"threads": 3}


def test_what_is_no_plan_file_is_said(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    assert said_of(path) == f"{path}: no such file"
    assert said_of(tmp_path) == f"{tmp_path}: is a folder, not a plan file"
    path.write_bytes(b"")
    (tmp_path / "plan.toml").write_bytes(b"")
    assert f"did you mean {tmp_path / 'plan.toml'}?" in said_of(tmp_path)
    path.write_bytes(b"ab\xff")
    assert said_of(path) == f"{path}: byte 3 is not UTF-8, so it is no plan"
    path.write_bytes(b"#" * (LARGEST + 1))
    assert said_of(path) == f"{path}: larger than 1 MiB, so it is no plan"
    assert "cannot be read" in said_of(path / "below")
    assert "cannot be read" in said_of("zero\0byte")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are a thing of Unix")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert said_of(tmp_path / "pipe") == f"{tmp_path / 'pipe'}: is no regular file"


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("threads = x\n", "at line 1, column 11"),
        ("a = 1\nb = [1,\n", "at end of document"),
        ("a = 1\na = 2\n", "at line 2, column 6"),
        ("a = " + "[" * 5000, "nested too deep"),
        ("a = " + "1" * 5000, "digits"),
        ("a = 2026-02-31", "no valid TOML"),
    ],
)
def test_bad_toml_is_told_with_its_place(toml: str, said: str) -> None:
    with pytest.raises(PlanError, match="no valid TOML") as caught:
        parse(toml)
    assert said in str(caught.value)


def test_what_is_written_begins_with_what_it_is() -> None:
    assert written({"a": 1}) == "# hotlap plan: how to run one model on one kind of machine.\n\na = 1\n"
