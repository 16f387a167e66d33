"""From a finding in a real model to the file that no longer has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hotlap.bench import save_feeds
from hotlap.cli import main
from hotlap.errors import InputError
from hotlap.inspect import RULES
from hotlap.passes.draft import Draft
from tests.inspect.commands import COMMAND
from tests.passes.asking import answers
from tests.passes.test_mend_batch import assert_rows_agree
from tests.passes.test_mending import found_in, optimised
from tests.real import real

pytestmark = pytest.mark.usefixtures("here")


def command(name: str, code: str, folder: Path) -> tuple[list[str], dict[str, Any]]:
    """The command that mends a finding of a real model, which names it; and what `inspect` was asked."""
    model = real(name)
    feeds = model.feeds(2)
    save_feeds(folder / "data", feeds)
    # Running the model tells these rules nothing, unless they say that they need it.
    asked: dict[str, Any] = {"data": feeds} if RULES[code].needs == "run" else {"probe": False}
    assert any(COMMAND.fullmatch(f.fix) for f in found_in(model.path, code, **asked))
    words = ["optimize", str(model.path), "--fix", code, "-o", str(folder / "out.onnx")]
    return [*words, "--data", str(folder / "data")], asked


def mended(name: str, code: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What the command says; the finding is gone from the file that it writes."""
    words, asked = command(name, code, folder)
    table = optimised(words, capsys)
    assert table["verdict"]["passed"]
    assert not [f for f in found_in(folder / "out.onnx", code, **asked) if f.fix]
    return table


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "code"), [("ocr-det", "HL202"), ("minilm", "HL517"), ("minilm-int8", "HL516")]
)
def test_findings_of_real_models(
    name: str, code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mended(name, code, tmp_path, capsys)


@pytest.mark.slow
def test_a_real_model_that_was_exported_for_one_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = real("ddddocr-det")
    draft = Draft.load(model.path)
    two = {"images": np.concatenate([f["images"] for f in model.feeds(2)])}
    with pytest.raises(InputError):
        answers(draft, two, tmp_path)
    (step,) = mended("ddddocr-det", "HL103", tmp_path, capsys)["steps"]
    assert len([note for note in step["notes"] if "axis" in note or "target" in note]) == 4, step
    assert_rows_agree(draft, Draft.load(tmp_path / "out.onnx"), two, tmp_path)


def test_a_real_model_whose_rows_cannot_be_found_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words, _ = command("ddddocr", "HL103", tmp_path)
    with pytest.raises(SystemExit) as ended:
        main([*words, "--no-measure"])
    refusal = 'mend-batch: output "387" [1, seqlen] does not carry the rows ("batch") on one axis'
    assert ended.value.code == 1 and refusal in capsys.readouterr().err
    assert not (tmp_path / "out.onnx").exists()
