"""HL202: weights that are denormal, which some processors multiply very slowly."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule

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


def find(case: Case) -> Iterator[Finding]:
    # The most first: of very many findings the last are left out.
    for weight in sorted(case.weights.values(), key=lambda w: -w.denormal):
        if not weight.denormal or weight.dtype not in _TYPES:
            continue
        count = math.prod(weight.shape)
        name = weight.value or weight.name
        share = weight.denormal / count if count else 0.0
        yield RULE.found(
            f"{weight.denormal:,} of {count:,} numbers of {name} are denormal ({100 * share:.3g} %)",
            severity=RULE.severity if share >= _FEW else "info",
            tensor=name,
            cost="measured up to 400 times slower on an Intel Xeon, no slower on an AMD EPYC",
            fix=RULE.mend,
        )
