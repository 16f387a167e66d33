from __future__ import annotations

import json
import os
from typing import Any

import click
import pytest

from hotlap import errors
from hotlap.cli.console import print_json, progress, report_error, terminal


def code(error: BaseException, **how: Any) -> int:
    return report_error(error, debug=how.get("debug", False), as_json=how.get("as_json", False))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (errors.VerificationFailed("differs"), 1),
        (errors.ModelError("broken"), 2),
        (errors.PlanError("unknown key"), 2),
        (errors.InputError(["a", "b"]), 2),
        (errors.UsageError("no"), 2),
        (errors.TargetFailed("crashed"), 2),
        (click.UsageError("no such option"), 2),
        (FileNotFoundError(2, "No such file or directory", "x.npy"), 2),
        (errors.MissingExtra("cpu", "running a model"), 3),
        (errors.ProviderUnavailable("cuda"), 3),
        (errors.StorageError("full"), 3),
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
        (click.exceptions.Exit(1), 1),
        (ZeroDivisionError("a fault of ours"), 70),
    ],
)
def test_each_kind_of_error_has_its_exit_code(error: BaseException, expected: int) -> None:
    assert code(error) == expected


def test_an_error_is_one_line_on_stderr_and_nothing_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    code(errors.ModelError("m.onnx: no such file"))
    out, err = capsys.readouterr()
    assert (out, err) == ("", "hotlap: m.onnx: no such file\n")


def test_with_json_the_error_is_a_document_too(capsys: pytest.CaptureFixture[str]) -> None:
    code(errors.PlanError("unknown key"), as_json=True)
    assert json.loads(capsys.readouterr().out) == {"error": "unknown key", "kind": "PlanError"}


def test_a_file_that_cannot_be_read_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    code(PermissionError(13, "Permission denied", "secret.npy"))
    assert capsys.readouterr().err == "hotlap: secret.npy: Permission denied\n"


def test_a_fault_of_ours_asks_to_be_reported_and_the_traceback_is_behind_debug(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code(ZeroDivisionError("x"))
    assert "internal error, please report it: ZeroDivisionError: x" in capsys.readouterr().err
    code(ZeroDivisionError("x"), debug=True)
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_there_is_no_bar_where_stderr_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("tuning", 10) as tell:
        tell(5, "half-way")
    assert capsys.readouterr() == ("", "")


def test_a_line_for_each_stage_where_that_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("optimising", 1, lines_after=0) as tell:
        for what in ("a", "b", "a", "b", "c"):
            tell(0.5, what)
    assert capsys.readouterr() == ("", "optimising: a\noptimising: b\noptimising: c\n")
    with progress("tuning", 1, lines_after=60) as tell:
        tell(0.5, "a")
    assert capsys.readouterr() == ("", "")


def test_no_name_reaches_the_terminal_as_a_command_or_as_a_line_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code(errors.ModelError("\x1b[31mm.onnx\nhotlap: all is well: broken"))
    assert capsys.readouterr().err == "hotlap: \\x1b[31mm.onnx\\nhotlap: all is well: broken\n"
    code(errors.InputError(['input "a\nb": missing', 'input "c": missing']))
    assert capsys.readouterr().err == 'hotlap: input "a\\nb": missing\ninput "c": missing\n'
    code(errors.ModelError("x" * 5000 + ": no such file"))
    said = capsys.readouterr().err
    assert len(said) < 1300 and said.endswith("x: no such file\n")


def test_a_name_that_is_no_text_is_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"model": "\udcff.onnx"})
    assert json.loads(capsys.readouterr().out) == {"model": "\udcff.onnx"}


@pytest.mark.parametrize(
    ("columns", "width"),
    [("100", 100), ("0", 10_000), ("-3", 10_000), ("wide", 10_000), ("", 10_000), ("1", 40)],
)
def test_no_width_swallows_what_is_printed(monkeypatch: pytest.MonkeyPatch, columns: str, width: int) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert terminal().width == width


def test_a_terminal_of_no_columns_has_eighty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("os.get_terminal_size", lambda fd: os.terminal_size((0, 0)))
    assert terminal().width == 80
