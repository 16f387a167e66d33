from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest

from hotlap.cli import COMMANDS, main


def run(*args: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "hotlap", *args], capture_output=True, text=True, cwd=cwd)


def code_of(*args: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(args))
    return int(caught.value.code or 0)


@pytest.mark.parametrize("verb", COMMANDS)
def test_every_verb_has_a_file_a_help_and_the_two_common_options(verb: str) -> None:
    command = import_module(f"hotlap.cli.{verb}").command
    assert isinstance(command, click.Command)
    assert {"as_json"} <= {p.name for p in command.params}
    assert command.help


def test_help_names_every_verb_and_loads_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("--help") == 0
    shown = capsys.readouterr().out
    assert all(verb in shown for verb in COMMANDS)
    script = "import sys; from hotlap.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    heavy = ("numpy", "onnxruntime", "rich", "onnx", "msgspec.toml")
    script += f"print(sorted(m for m in sys.modules if m in {heavy}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1]
    assert "onnxruntime" not in loaded and "rich" not in loaded and "'onnx'" not in loaded


def test_an_unknown_verb_or_option_is_one_line_and_exit_code_2() -> None:
    for args in (
        ["tume"],
        ["tune"],
        ["tune", "m.onnx", "--tine", "9s"],
        ["tune", "m.onnx", "--time", "soon"],
    ):
        done = run(*args)
        assert done.returncode == 2, args
        assert done.stderr.count("\n") == 1 and done.stderr.startswith("hotlap: "), done.stderr
        assert done.stdout == ""


def test_the_module_and_the_script_are_the_same_program() -> None:
    done = run("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("hotlap")


def test_a_missing_model_is_one_line_and_a_traceback_only_with_debug(tmp_path: Path) -> None:
    for verb in (["tune", "no.onnx", "-o", "m.lap"], ["run", "no.onnx"], ["bench", "no.onnx"]):
        done = run(*verb, cwd=tmp_path)
        assert done.returncode == 2, done.stderr
        assert "no.onnx" in done.stderr and done.stderr.count("\n") == 1, done.stderr
    done = run("run", "no.onnx", "--debug", cwd=tmp_path)
    assert done.returncode == 2 and "Traceback" in done.stderr
