"""The models that onnx's own tests call right: no rule may call one of them wrong, or fail on it."""

from __future__ import annotations

from pathlib import Path

import onnx.backend.test
import pytest

from hotlap.inspect import inspect

DATA = Path(onnx.backend.test.__file__).parent / "data"
KINDS = ("light", "pytorch-converted", "pytorch-operator", "real", "simple")


@pytest.mark.parametrize("kind", KINDS)
def test_no_error_is_found(kind: str) -> None:
    for path in sorted((DATA / kind).rglob("*.onnx")):
        found = inspect(path, probe=False)
        assert found.unknown == (), path
        assert [f for f in found.findings if f.severity == "error"] == [], path


def test_they_are_all_there() -> None:
    assert sum(len(list((DATA / kind).rglob("*.onnx"))) for kind in KINDS) >= 149
