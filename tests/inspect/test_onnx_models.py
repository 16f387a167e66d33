"""The models that onnx's own tests call right: no rule may call one of them wrong, or fail on it."""

from __future__ import annotations

import pytest

from benchmarks.inspections import BACKEND, BACKEND_KINDS
from hotlap.inspect import inspect


@pytest.mark.parametrize("kind", BACKEND_KINDS)
def test_no_error_is_found(kind: str) -> None:
    for path in sorted((BACKEND / kind).rglob("*.onnx")):
        found = inspect(path, probe=False)
        assert found.unknown == (), path
        assert [f for f in found.findings if f.severity == "error"] == [], path


def test_they_are_all_there() -> None:
    assert sum(len(list((BACKEND / kind).rglob("*.onnx"))) for kind in BACKEND_KINDS) >= 149
