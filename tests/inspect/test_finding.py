from __future__ import annotations

from hotlap.inspect import Finding, Rule

RULE = Rule(code="HL101", name="dynamic-in-name-only", title="T", severity="error")


def test_a_rule_knows_its_theme_and_its_command() -> None:
    assert RULE.theme == "rows and shapes"
    assert RULE.mend == "hotlap optimize MODEL --fix HL101 -o OUT.onnx"


def test_a_finding_is_as_severe_as_its_rule_unless_told_otherwise() -> None:
    assert RULE.found("m", tensor="x") == Finding(code="HL101", severity="error", message="m", tensor="x")
    assert RULE.found("m", severity="info").severity == "info"
