from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hotlap.cli import main
from tests import tiny


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny.save(tiny.mlp(), tmp_path / "m.onnx")


def code_of(*args: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(args))
    return int(caught.value.code or 0)


@pytest.mark.slow
def test_it_writes_the_folder_and_says_what_was_found(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of("tune", str(model), "-o", str(tmp_path / "m.lap"), "--time", "10s") == 0
    shown = capsys.readouterr().out
    assert "cpu, 1 thread" in shown and "chosen" in shown
    assert "onnxruntime.InferenceSession(path) with no options" in " ".join(shown.split())
    # On a machine that is busy with other work the comparison is void, and no ratio is shown.
    assert ("Void" in shown) != ("fresh processes in turn" in " ".join(shown.split()))
    assert "made to fit the signature (give --data for your own)" in " ".join(shown.split())
    assert (tmp_path / "m.lap" / "plan.toml").is_file()


@pytest.mark.slow
def test_json_is_one_document_without_the_raw_samples(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "rows.npz", x=np.ones((70, 16), np.float32))
    assert (
        code_of("tune", str(model), "--data", str(tmp_path / "rows.npz"), "--rows", "--time", "10s", "--json")
        == 0
    )
    shown = json.loads(capsys.readouterr().out)
    assert shown["feeds"] == 70
    assert {"label", "status", "reason", "speedup"} <= set(shown["trials"][0])
    assert "samples" not in json.dumps(shown)


def test_bad_arguments_end_before_any_work(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of("tune", str(model), "--time", "3s") == 2
    assert code_of("tune", str(model), "-o", str(tmp_path / "no" / "m.lap")) == 2
    assert code_of("tune", str(model), "--level", "sloppy") == 2
    assert code_of("tune", str(model), "--scores", "y") == 2
    assert code_of("tune", str(model), "--data", str(tmp_path / "no.npz")) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 5, lines


@pytest.mark.slow
def test_a_score_of_an_output_that_is_not_there_is_said(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of("tune", str(model), "--scores", "z:-1", "--time", "10s") == 2
    assert '"z"' in capsys.readouterr().err
