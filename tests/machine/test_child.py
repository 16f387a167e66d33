from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hotlap.machine.child import ask
from tests.machine import sites


def test_importing_onnxruntime_tells_its_version_and_providers() -> None:
    pytest.importorskip("onnxruntime")
    answer = ask("import")
    assert answer.failure == ""
    assert "CPUExecutionProvider" in answer.values["providers"]
    assert answer.values["version"].startswith("1.")


def test_a_provider_answers_with_its_status() -> None:
    pytest.importorskip("onnxruntime")
    answer = ask("provider", "cpu")
    assert (answer.values["name"], answer.values["loads"]) == ("cpu", True)


def test_what_import_raises_is_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(sites.stub(tmp_path, "raise ImportError('no luck')")))
    assert ask("import").values == {"kind": "ImportError", "error": "no luck", "missing": None}


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_crash_is_told_not_suffered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    monkeypatch.setenv("PYTHONPATH", str(sites.stub(tmp_path, code)))
    answer = ask("import")
    assert (answer.values, answer.failure) == ({}, "killed by signal 9")


def test_a_process_that_leaves_early_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(sites.stub(tmp_path, "raise SystemExit('licence missing')")))
    assert ask("import").failure == "exit code 1: licence missing"


def test_a_hang_ends_after_the_time_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(sites.stub(tmp_path, "import time; time.sleep(60)")))
    assert ask("import", seconds=0.5).failure == "no answer within 0.5 s"


def test_what_libraries_print_does_not_disturb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import sys\nprint('hello', end='')\nsys.stderr.write('\\x1b[31mred\\x1b[0m')\nraise ImportError('x')"
    )
    monkeypatch.setenv("PYTHONPATH", str(sites.stub(tmp_path, code)))
    answer = ask("import")
    assert answer.values["error"] == "x"
    assert answer.said == "red"


def test_a_file_in_the_working_folder_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "onnxruntime.py").write_text("raise ImportError('the wrong one')")
    monkeypatch.chdir(tmp_path)
    assert ask("import").values.get("error") != "the wrong one"
