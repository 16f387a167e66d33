"""HL106: padding an input changes the answers to what was there before.

A fault where the model has a mask, which should prevent it; else in the nature of the model.
"""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule, Severity
from hotlap.inspect.shapes import shapes
from hotlap.model.graph import signature
from hotlap.runtime.probe.making import is_mask

RULE = Rule(
    code="HL106",
    name="padding-changes-answers",
    title="Padding changes the answers",
    severity="warning",
    needs="run",
)


def find(case: Case) -> Iterator[Finding]:
    facts = case.ran.facts if case.ran else None
    sensitive = [axis for axis, how in (facts.padding if facts else {}).items() if how == "sensitive"]
    inputs, _ = signature(case.walk.model)
    severity: Severity = "warning" if any(map(is_mask, inputs)) else "info"
    for axis in sensitive:
        scale = next(case.walk.nodes("DynamicQuantizeLinear", "com.microsoft.DynamicQuantizeMatMul"), None)
        why = f": {scale.label} takes its scale from padding too" if scale else ""
        yield RULE.found(
            f"padding along {axis} changes the answers{why}",
            severity=severity,
            node=scale.label if scale else "",
            tensor=_input(case, axis),
            fix="put inputs of equal size alone into one batch; pad only as the model was trained with",
        )


def _input(case: Case, axis: str) -> str:
    """The first input with that axis, which is spelt as a symbol or as ``input[axis]``."""
    known = shapes(case.walk)
    names = [v.name for v in case.walk.root.proto.input]
    return next((n for n in names if axis in (known.dims(n) or ()) or axis.startswith(f"{n}[")), "")
