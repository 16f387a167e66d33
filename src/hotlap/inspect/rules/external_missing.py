"""HL305: a file of external weights is missing."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule

RULE = Rule(
    code="HL305", name="external-missing", title="A file of external weights is missing", severity="error"
)


def find(case: Case) -> Iterator[Finding]:
    for problem in case.external:
        if problem.kind in ("missing", "unreadable"):
            yield RULE.found(
                problem.said,
                tensor=problem.tensor,
                fix="lay the file beside the model, under the name that the model gives",
            )
