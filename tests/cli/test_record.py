from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path

import pytest

from hotlap.bench import load_feeds, load_mix, load_trace
from hotlap.cli import main
from tests import tiny

PROGRAM = """
    import sys
    import numpy as np
    import hotlap

    with hotlap.open("m.onnx") as runner:
        for n in range(1, 6):
            runner.run({"x": np.full((n % 2 + 1, 4), n, np.float32)})
    print("the program's own", *sys.argv[1:])
    sys.exit(3)
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    tiny.save(tiny.add(), tmp_path / "m.onnx")
    (tmp_path / "app.py").write_text(textwrap.dedent(PROGRAM))
    return tmp_path / "app.py"


def run(capfd: pytest.CaptureFixture[str], *args: str | Path) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as done:
        main(["record", *map(str, args)])
    out, err = capfd.readouterr()
    assert isinstance(done.value.code, int)
    return done.value.code, out, err


def test_a_program_is_run_as_it_is_and_recorded(
    program: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(
        capfd, "-o", "rec", "--inputs", "all", "--feeds", "3", "--", sys.executable, program, "--json", "-o"
    )
    assert code == 3 and out == "the program's own --json -o\n"
    assert err == (
        f"hotlap: {tmp_path / 'rec'}: 5 requests of 2 different shapes, 5 arrival times, 3 feeds\n"
    )
    assert len(load_feeds("rec/feeds")) == 3 and len(load_trace("rec/arrivals.txt")) == 5
    assert {c.shapes["x"]: c.weight for c in load_mix("rec/shapes.json").choices} == {(1, 4): 2, (2, 4): 3}


def test_no_values_unless_they_are_asked_for(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capfd, "-o", "rec", "--json", "--", sys.executable, program)
    told = json.loads(out.partition("\n")[2])
    assert told["exit_code"] == 3
    assert [(r["requests"], r["feeds"]) for r in told["recordings"]] == [(5, 0)]


def test_a_program_that_runs_no_model_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capfd, "-o", "rec", "--", sys.executable, "-c", "pass")
    assert code == 0 and "nothing was recorded" in err and not (tmp_path / "rec").exists()


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["-o", "rec", "--", "no-such-program"], "no-such-program: No such file"),
        (["-o", "rec"], "PROGRAM"),
        (["--", "true"], "--output"),
        (["-o", "rec", "--feeds", "-1", "--", "true"], "--feeds"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(
    args: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capfd, *args)
    assert code == 2 and told in err and err.count("\n") == 1
