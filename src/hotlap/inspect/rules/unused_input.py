"""HL413: an input that nobody reads."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule

RULE = Rule(code="HL413", name="unused-input", title="An input that nobody reads", severity="info")


def find(case: Case) -> Iterator[Finding]:
    root = case.walk.root
    for spec in case.anatomy.inputs:
        if not case.walk.readers(root, spec.name) and not case.walk.is_output(root, spec.name):
            yield RULE.found(
                f'input "{spec.name}" changes nothing, and every caller must give it',
                tensor=spec.name,
                fix=RULE.mend,
            )
