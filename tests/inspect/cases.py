"""From a model of a few nodes to what a rule finds in it, without running anything."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import onnx

from hotlap.inspect import Finding
from hotlap.inspect.case import Case, Runtime
from hotlap.model import Model
from hotlap.model.anatomy import anatomy
from hotlap.model.weights import weight_stats
from tests import tiny

HERE = Runtime(ort="1.32.0", max_ir=14, max_opset=28, max_ml_opset=5, features=frozenset({"AVX2", "VNNI"}))
"""What is judged for where a test does not say: an ORT, and a processor that no test machine need be."""


def case_of(model: onnx.ModelProto | Path, folder: Path, **fields: Any) -> Case:
    """The case of a model (or of a file), saved in the folder; `fields` are those of `Case` that differ."""
    path = model if isinstance(model, Path) else tiny.save(model, folder / "case.onnx")
    loaded = Model.load(path, external="report")
    given = {
        "anatomy": anatomy(loaded),
        "walk": loaded.walk,
        "weights": {w.name: w for w in weight_stats(loaded.proto, folder, loaded.walk)},
        "external": loaded.external_problems,
        "runtime": HERE,
    }
    return Case(**{**given, **fields})


def found(rule: ModuleType, model: onnx.ModelProto | Path, folder: Path, **fields: Any) -> list[Finding]:
    """What one rule finds."""
    findings = list(rule.find(case_of(model, folder, **fields)))
    assert all(f.code == rule.RULE.code for f in findings)
    return findings
