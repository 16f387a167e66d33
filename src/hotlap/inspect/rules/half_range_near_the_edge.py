"""HL203: float16 values come near the largest that float16 can hold."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.inspect.half import LARGEST, OVERFLOW, crossings

RULE = Rule(
    code="HL203",
    name="half-range-near-the-edge",
    title="Half-precision values come near their limit",
    severity="warning",
    needs="run",
)

NEAR = LARGEST / 2
"""One doubling away: other inputs easily bring that."""


def find(case: Case) -> Iterator[Finding]:
    data = case.ran.data if case.ran else ""
    whose = "your inputs" if data == "yours" else "generated inputs"
    for crossing in crossings(case, NEAR):
        if crossing.peak >= OVERFLOW or crossing.masks:
            continue
        yield RULE.found(
            (f"{crossing.value} reaches {crossing.peak:,.0f} on {whose}; float16 ends at {LARGEST:,.0f}"),
            node=crossing.node.label,
            tensor=crossing.value,
            fix="keep this node in float32 (the converter's block list), or scale its input down",
        )
