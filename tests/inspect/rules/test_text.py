from __future__ import annotations

from pathlib import Path

from hotlap.inspect.rules import text
from tests import tiny
from tests.inspect.cases import found


def test_text_is_told_on_both_sides(tmp_path: Path) -> None:
    findings = found(text, tiny.text(), tmp_path)
    assert [(f.severity, f.tensor) for f in findings] == [("info", "x"), ("info", "y")]
    assert findings[0].message.startswith('input "x" is text')
    assert findings[1].message.startswith('output "y" is text')


def test_numbers_are_none(tmp_path: Path) -> None:
    assert found(text, tiny.gather_mask(), tmp_path) == []
