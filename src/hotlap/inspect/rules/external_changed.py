"""HL306: a file of external weights is not the one that the model was saved with."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule

RULE = Rule(
    code="HL306",
    name="external-changed",
    title="A file of external weights is not the one that the model was saved with",
    severity="error",
)


def find(case: Case) -> Iterator[Finding]:
    for problem in case.external:
        if problem.kind in ("changed", "cut short"):
            yield RULE.found(
                problem.said,
                tensor=problem.tensor,
                fix="save the model again, or restore the file that belongs to it",
            )
