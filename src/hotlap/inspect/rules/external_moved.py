"""HL308: a file of external weights lies elsewhere than the model says."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule

RULE = Rule(
    code="HL308",
    name="external-moved",
    title="A file of external weights lies elsewhere than the model says",
    severity="error",
)


def find(case: Case) -> Iterator[Finding]:
    for problem in case.external:
        if problem.kind == "moved":
            yield RULE.found(
                problem.said,
                tensor=problem.tensor,
                fix=f'move "{problem.elsewhere}" to "{problem.location}", as the model names it',
            )
