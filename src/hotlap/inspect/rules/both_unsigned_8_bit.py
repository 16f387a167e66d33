"""HL209: activations and weights are both unsigned, for which ORT has its slowest 8-bit kernels."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.inspect.integer import products

RULE = Rule(
    code="HL209",
    name="both-unsigned-8-bit",
    title="Activations and weights are both unsigned 8-bit",
    severity="warning",
)


def find(case: Case) -> Iterator[Finding]:
    unsigned = [
        p
        for p in products(case.walk)
        if (p.activations, p.weights) == ("uint8", "uint8")
        and p.node.op != "ConvInteger"  # that is HL211's
        and case.walk.is_constant(p.node.scope, p.value)  # two activations are both unsigned by nature
    ]
    if not unsigned:
        return
    first = unsigned[0]
    more = f" and {len(unsigned) - 1} more multiply" if len(unsigned) > 1 else " multiplies"
    yield RULE.found(
        f"{first.node.label}{more} unsigned 8-bit activations by unsigned 8-bit weights",
        node=first.node.label,
        tensor=first.value,
        cost="measured 2 to 5 times slower than with signed weights, convolutions no faster than float32",
        fix="quantise the weights as QInt8",
    )
