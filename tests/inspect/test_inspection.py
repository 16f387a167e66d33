from __future__ import annotations

import json
from pathlib import Path

import pytest

from hotlap.errors import StorageError, UsageError
from hotlap.inspect import Inspection, Judged, Severity
from hotlap.inspect.finding import Finding
from hotlap.model import Model
from hotlap.model.anatomy import anatomy
from tests import tiny


def inspection(folder: Path, *severities: Severity) -> Inspection:
    model = Model.load(tiny.save(tiny.add(), folder / "m.onnx"))
    findings = tuple(Finding(code="HL403", severity=s, message="m") for s in severities)
    return Inspection(anatomy=anatomy(model), judged=Judged(onnxruntime="1.32.0"), findings=findings)


def test_it_fails_on_what_is_as_severe_or_worse(tmp_path: Path) -> None:
    found = inspection(tmp_path, "warning", "info", "info")
    assert [found.count(s) for s in ("error", "warning", "info")] == [0, 1, 2]
    assert (found.fails("error"), found.fails("warning"), found.fails("info")) == (False, True, True)
    assert not inspection(tmp_path).fails("info")


def test_what_is_no_inspection_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"format": 1}')
    (tmp_path / "newer.json").write_text('{"format": 99}')
    for name, said in {
        "other": "not a saved inspection",
        "newer": "a newer hotlap",
        "none": "No such",
    }.items():
        with pytest.raises(UsageError, match=said):
            Inspection.load(tmp_path / f"{name}.json")


def test_it_is_saved_whole_with_its_format(tmp_path: Path) -> None:
    inspection(tmp_path, "error").save(tmp_path / "i.json")
    saved = json.loads((tmp_path / "i.json").read_text())
    assert (saved["format"], saved["judged"]["onnxruntime"]) == (1, "1.32.0")
    assert saved["findings"] == [{"code": "HL403", "severity": "error", "message": "m"}]
    assert Inspection.load(tmp_path / "i.json") == inspection(tmp_path, "error")
    with pytest.raises(StorageError):
        inspection(tmp_path).save(tmp_path / "no" / "i.json")
