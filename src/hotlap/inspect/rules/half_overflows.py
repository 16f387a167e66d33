"""HL204: values of a half-precision model are larger than float16 can hold."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule, Severity
from hotlap.inspect.half import LARGEST, OVERFLOW, Crossing, crossings

RULE = Rule(
    code="HL204",
    name="half-overflows",
    title="Half-precision values overflow",
    severity="error",
    needs="run",
)


def find(case: Case) -> Iterator[Finding]:
    for crossing in crossings(case, OVERFLOW):
        yield RULE.found(
            f"{crossing.value} {_what(crossing)}",
            severity=_severity(crossing),
            node=crossing.node.label,
            tensor=crossing.value,
            fix="keep this node in float32 (the converter's block list), or scale its input down",
        )


def _severity(crossing: Crossing) -> Severity:
    return RULE.severity if crossing.stored and not crossing.masks else "warning"


def _what(crossing: Crossing) -> str:
    if math.isinf(crossing.peak):
        return "is infinite or no number already in float32 arithmetic"
    would = "becomes" if crossing.stored else "would become"
    what = f"reaches {crossing.peak:,.0f} in float32 arithmetic and {would} infinite in float16"
    if crossing.masks:
        return f"{what}; it is a mask: rows that are masked whole turn into NaN"
    return f"{what}, which ends at {LARGEST:,.0f}"
