"""HL206: the CPU provider computes half precision in float32, so agreement there says nothing about a GPU."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.inspect.half import in_half

RULE = Rule(
    code="HL206",
    name="half-on-cpu-proves-nothing",
    title="Half precision is computed in float32 on the CPU",
    severity="info",
)


def find(case: Case) -> Iterator[Finding]:
    nodes = in_half(case.walk)
    if not nodes:
        return
    some = f"{len(nodes)} nodes of the file are" if len(nodes) > 1 else "1 node of the file is"
    yield RULE.found(
        f"{some} in float16; {_here(case)}",
        node=nodes[0].label,
        fix="compare on the device that will run the model",
    )


def _here(case: Case) -> str:
    lesson = "answers that agree there say nothing about a GPU"
    if case.ran is None or case.ran.executed is None:
        return f"the CPU provider computes nearly all of float16 in float32: {lesson}"
    left = len(in_half(case.ran.executed))
    if not left:
        return f"the CPU provider computes all of them in float32: {lesson}"
    return f"ORT executes {left} of its nodes in float16 here, and the others in float32: {lesson}"
