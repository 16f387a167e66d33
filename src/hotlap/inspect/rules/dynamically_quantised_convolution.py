"""HL211: a convolution that is quantised at run time, which is slower than float32."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.model.elements import elements

RULE = Rule(
    code="HL211",
    name="dynamically-quantised-convolution",
    title="Convolutions are quantised at run time",
    severity="warning",
)


def find(case: Case) -> Iterator[Finding]:
    found = [
        n
        for n in case.walk.nodes("ConvInteger")
        if n.inputs
        and (maker := case.walk.maker(n.scope, n.inputs[0])) is not None
        and maker.op == "DynamicQuantizeLinear"
    ]
    if not found:
        return
    signed = any("int8" in elements(case.walk).read(n)[1:2] for n in found)
    slower = "9 to 17 times slower" if signed else "no faster to 2 times slower"
    more = f" and {len(found) - 1} more convolutions are" if len(found) > 1 else " is"
    yield RULE.found(
        f"{found[0].label}{more} quantised anew in every call",
        node=found[0].label,
        tensor=found[0].inputs[1] if len(found[0].inputs) > 1 else "",
        cost=f"measured {slower} than the same convolution in float32",
        fix="quantise statically, or leave convolutions in float32",
    )
