from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import click
import pytest

from hotlap.cli import COMMANDS, main
from tests import tiny


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
    script += "print(sorted({'onnxruntime', 'rich', 'onnx'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


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


@pytest.mark.skipif(os.name != "posix", reason="Windows has other signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_leaves_no_temporary_folder(tmp_path: Path, number: signal.Signals) -> None:
    model = tiny.save(tiny.mlp(), tmp_path / "m.onnx")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    # Whoever started these tests may have had the signal ignored.
    handler = "default_int_handler" if number == signal.SIGINT else "SIG_DFL"
    script = (
        f"import signal; signal.signal({number:d}, signal.{handler})\nfrom hotlap.cli import main; main()"
    )
    command = [sys.executable, "-c", script, "bench", str(model), "--seconds", "60"]
    child = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(scratch)}, stderr=subprocess.PIPE)
    for _ in range(200):
        if any(scratch.glob("hotlap-*")):
            break
        time.sleep(0.05)
    child.send_signal(number)
    _, said = child.communicate(timeout=30)
    assert (child.returncode, said.strip()) == (128 + number, b"hotlap: interrupted")
    assert list(scratch.glob("hotlap-*")) == []


@pytest.mark.skipif(os.name != "posix", reason="Windows has other signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_waits_until_what_is_being_imported_is_there(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "slow.py").write_text(
        "import pathlib, time\npathlib.Path('begun').touch()\n"
        "time.sleep(0.3)\npathlib.Path('whole').touch()\n"
    )
    handler = "default_int_handler" if number == signal.SIGINT else "SIG_DFL"
    script = (
        f"import signal; signal.signal({number:d}, signal.{handler})\n"
        "from hotlap.cli.console import Ended, prepare\nprepare()\n"
        "try:\n    import slow\n    import time; time.sleep(20)\n"
        "except (Ended, KeyboardInterrupt) as error:\n    print(type(error).__name__)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, stdout=subprocess.PIPE)
    for _ in range(400):
        if (tmp_path / "begun").exists():
            break
        time.sleep(0.02)
    child.send_signal(number)
    said, _ = child.communicate(timeout=15)
    assert said.strip() == (b"KeyboardInterrupt" if number == signal.SIGINT else b"Ended")
    assert (tmp_path / "whole").exists()


@pytest.mark.skipif(os.name != "posix", reason="pipes of shells")
def test_a_reader_that_has_read_enough_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "hotlap", "--help"], stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")
