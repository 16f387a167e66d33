"""HL202: weights that are denormal, which some processors multiply very slowly."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule, Severity
from hotlap.model.weights import WeightStats

RULE = Rule(
    code="HL202",
    name="denormal-weights",
    title="Weights are so small that some processors slow down",
    severity="warning",
)

_FEW = 1e-5
"""Below this share a finding is for information only. A processor that slows down
takes some 150 cycles for a vector of up to 16 weights that holds one, so this share costs about
16 * 1e-5 * 150 = 2 %."""
_TYPES = ("float32", "float64", "bfloat16")
"""float16 is computed as float32, in which its denormals are ordinary numbers."""


_MOST_TOLD = 5
"""Weights that get a finding of their own; the others share one, since one command mends them all."""
_MOST_NAMED = 10
_COST = "measured up to 400 times slower on an Intel Xeon, no slower on an AMD EPYC"


def find(case: Case) -> Iterator[Finding]:
    found = [w for w in case.weights.values() if w.denormal and w.dtype in _TYPES]
    # The most first: of very many the last are told together.
    found.sort(key=lambda w: -w.denormal)
    for weight in found[:_MOST_TOLD]:
        count = math.prod(weight.shape)
        name = weight.value or weight.name
        yield RULE.found(
            f"{weight.denormal:,} of {count:,} numbers of {name} are denormal ({100 * _share(weight):.3g} %)",
            severity=_severity([weight]),
            tensor=name,
            cost=_COST,
            fix=RULE.mend,
        )
    if len(found) > _MOST_TOLD:
        yield _others(found[_MOST_TOLD:])


def _others(weights: Sequence[WeightStats]) -> Finding:
    one = len(weights) == 1
    named = ", ".join(w.value or w.name for w in weights[:_MOST_NAMED])
    return RULE.found(
        f"{len(weights)} more weight{'' if one else 's'} hold{'s' if one else ''} "
        f"{sum(w.denormal for w in weights):,} denormal numbers: {named}"
        f"{', …' if len(weights) > _MOST_NAMED else ''}",
        severity=_severity(weights),
        cost=_COST,
        fix=RULE.mend,
    )


def _severity(weights: Sequence[WeightStats]) -> Severity:
    return RULE.severity if any(_share(w) >= _FEW for w in weights) else "info"


def _share(weight: WeightStats) -> float:
    count = math.prod(weight.shape)
    return weight.denormal / count if count else 0.0
