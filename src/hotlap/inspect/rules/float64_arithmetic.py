"""HL201: the model computes in float64."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.computing import MOVES
from hotlap.inspect.finding import Finding, Rule
from hotlap.model.elements import Elements, elements
from hotlap.model.walk import Node

RULE = Rule(
    code="HL201",
    name="float64-arithmetic",
    title="The model computes in float64",
    severity="warning",
)


def find(case: Case) -> Iterator[Finding]:
    types = elements(case.walk)
    doubles = [n for n in case.walk.nodes() if n.op not in MOVES and _is_double(types, n)]
    if not doubles:
        return
    first = doubles[0]
    value, origin = _origin(case, types, first)
    more = f" and {len(doubles) - 1} more nodes compute" if len(doubles) > 1 else " computes"
    yield RULE.found(
        f"{first.label}{more} in float64{origin}",
        node=first.label,
        tensor=value,
        cost="measured 2 to 3 times slower than float32, an exponential 30 to 60 times",
        fix="export from float32 weights and inputs, or cast to float32 where the float64 begins",
    )


def _is_double(types: Elements, node: Node) -> bool:
    return "float64" in types.read(node) or "float64" in types.made(node)


def _origin(case: Case, types: Elements, node: Node) -> tuple[str, str]:
    """(value, how it came to be float64) of the first float64 that the node reads, followed upstream."""
    seen: set[Node] = set()
    value = ""
    while node not in seen:
        seen.add(node)
        upstream = next((v for v in node.inputs if v and types.of(node.scope, v) == "float64"), "")
        if not upstream:
            return value, f", since {node.label} makes it" if value else ""
        value = upstream
        if case.walk.is_constant(node.scope, value):
            return value, f", from the constant {value}"
        maker = case.walk.maker(node.scope, value)
        if maker is None:
            return value, f", from the input {value}"
        node = maker
    return "", ""
