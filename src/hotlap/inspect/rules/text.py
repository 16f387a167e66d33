"""HL403: text goes in or out."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule

RULE = Rule(code="HL403", name="text", title="Text goes in or out", severity="info")


def find(case: Case) -> Iterator[Finding]:
    sides = {"input": case.anatomy.inputs, "output": case.anatomy.outputs}
    for side, specs in sides.items():
        for spec in specs:
            if spec.type == "tensor(string)":
                yield RULE.found(
                    f'{side} "{spec.name}" is text: each element is a Python object, copied on every call',
                    tensor=spec.name,
                )
