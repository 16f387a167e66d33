"""HL207: weights that are no numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.model.walk import Node
from hotlap.model.weights import WeightStats

RULE = Rule(
    code="HL207",
    name="nan-weights",
    title="Weights are not numbers",
    severity="error",
)

_MEANT = frozenset({"Where", "IsNaN", "Equal", "Pad", "Identity"})
"""Operators in which a NaN may be meant: what stands where something is missing."""


def find(case: Case) -> Iterator[Finding]:
    for weight in case.weights.values():
        if not weight.nan:
            continue
        count, readers = math.prod(weight.shape), _readers(case, weight)
        name = weight.value or weight.name
        meant = bool(readers) and all(r.op in _MEANT for r in readers)
        yield RULE.found(
            (
                f"{weight.nan:,} of {count:,} numbers of {name} are NaN"
                + (", as a mark it seems" if meant else ": whatever they meet becomes NaN")
            ),
            severity="info" if meant else RULE.severity,
            node=readers[0].label if readers else "",
            tensor=name,
            fix=""
            if meant
            else "look for the step that wrote them: training that diverged, a division by zero",
        )


def _readers(case: Case, weight: WeightStats) -> list[Node]:
    scope = next((s for s in case.walk.scopes if s.path == weight.scope), None)
    return case.walk.readers(scope, weight.value) if scope is not None and weight.value else []
