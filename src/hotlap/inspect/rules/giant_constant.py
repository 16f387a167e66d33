"""HL409: a constant that is large for no reason, or too large for the file."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.model.weights import WeightStats

RULE = Rule(code="HL409", name="giant-constant", title="A giant constant", severity="warning")
UNIFORM = 1 << 20
"""Bytes from which on a tensor of one single value is worth a word."""
INSIDE = 512 << 20
"""Bytes from which on a tensor should not lie inside the model file, which ends at 2 GB."""


def find(case: Case) -> Iterator[Finding]:
    for one in case.weights.values():
        if _uniform(one) and one.nbytes >= UNIFORM:
            yield RULE.found(
                f"{one.dtype}{list(one.shape)} holds the one value {_told(one.low)} everywhere",
                tensor=one.name,
                cost=f"{one.nbytes:,} bytes",
                fix=RULE.mend,
            )
        elif one.nbytes >= INSIDE and not one.external:
            yield RULE.found(
                f"{one.dtype}{list(one.shape)} lies inside the model file, which can hold 2 GB",
                tensor=one.name,
                cost=f"{one.nbytes:,} bytes",
                fix="hotlap optimize MODEL --pass external-weights -o OUT.onnx",
            )


def _told(value: int | float | None) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _uniform(one: WeightStats) -> bool:
    return one.low is not None and one.low == one.high and not one.nan and not one.inf
