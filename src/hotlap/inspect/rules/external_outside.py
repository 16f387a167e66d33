"""HL307: a file of external weights lies outside of the model's folder."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule

RULE = Rule(
    code="HL307",
    name="external-outside",
    title="A file of external weights lies outside of the model's folder",
    severity="error",
)


def find(case: Case) -> Iterator[Finding]:
    for problem in case.external:
        if problem.kind == "outside":
            yield RULE.found(
                problem.said,
                tensor=problem.tensor,
                fix="save the model again with its weights beside it",
            )
