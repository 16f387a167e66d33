"""The verb's side of it: the numbers themselves are tested in tests/bench/test_calls.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from hotlap.cli.calls import show_calls
from tests import tiny


def test_models_that_cannot_be_bound_say_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tiny.save(tiny.text(), tmp_path / "m.onnx")
    assert show_calls(str(model), None, False, 0.01, 0, as_json=False) == 0
    shown = capsys.readouterr().out
    assert "hotlap run is plain" in shown
    assert "one feed, generated to fit the signature" in shown
