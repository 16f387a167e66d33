"""HL407: nodes that lead nowhere, weights that nobody reads, and outputs that are made for nobody."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.model.operators import optional_outputs
from hotlap.model.walk import Node, Scope, Walk

RULE = Rule(code="HL407", name="unused-output", title="Work whose result nobody reads", severity="warning")
_MOST_NAMED = 3


def find(case: Case) -> Iterator[Finding]:
    dead = _dead(case.walk)
    # A constant costs nothing while it runs.
    working = [node for node in case.walk.nodes() if node in dead and node.op != "Constant"]
    if working:
        named = ", ".join(node.label for node in working[:_MOST_NAMED])
        yield RULE.found(
            f"{len(working)} node{'s lead' if len(working) > 1 else ' leads'} to no output: {named}"
            f"{', …' if len(working) > _MOST_NAMED else ''}",
            node=working[0].label,
            cost=f"{len(working)} of {case.anatomy.nodes} nodes, run on every call",
            fix=RULE.mend,
        )
    yield from _weights(case)
    for op, nodes in _for_nobody(case, dead).items():
        first, value = nodes[0]
        yield RULE.found(
            f"{op} makes an optional output that nobody reads ({len(nodes)} node{'s' * (len(nodes) > 1)})",
            severity="info",
            node=first.label,
            tensor=value,
            fix="leave that output's name empty when exporting",
        )


def _weights(case: Case) -> Iterator[Finding]:
    """At most one finding. ORT leaves such weights out while it loads the model, with a warning for each."""
    scopes = {scope.path: scope for scope in case.walk.scopes}
    unread = [w for w in case.weights.values() if _is_unread(case.walk, scopes.get(w.scope), w.value)]
    if unread:
        named = ", ".join(w.value for w in unread[:_MOST_NAMED])
        yield RULE.found(
            f"{len(unread)} weight{'s are' if len(unread) > 1 else ' is'} read by nobody: {named}"
            f"{', …' if len(unread) > _MOST_NAMED else ''}",
            severity="info",
            tensor=unread[0].value,
            cost=f"{sum(w.nbytes for w in unread):,} bytes of the file",
            fix=RULE.mend,
        )


def _is_unread(walk: Walk, scope: Scope | None, value: str) -> bool:
    if scope is None or value not in scope.weights or value in scope.inputs:
        return False  # what a caller may give is HL404's and HL413's
    return not walk.readers(scope, value) and not walk.is_output(scope, value)


def _dead(walk: Walk) -> set[Node]:
    """Nodes from which no way leads to an output of their graph."""
    nodes = list(walk.nodes())
    left = [n for n in nodes if any(walk.is_output(n.scope, v) for v in n.outputs if v)]
    live = set(left)
    while left:
        node = left.pop()
        makers = {walk.maker(node.scope, value) for value in node.inputs if value}
        new = {maker for maker in makers if maker is not None} - live
        live |= new
        left += new
    return set(nodes) - live


def _for_nobody(case: Case, dead: set[Node]) -> dict[str, list[tuple[Node, str]]]:
    """Operator to its nodes that make an optional output for nobody, each with that output."""
    found: dict[str, list[tuple[Node, str]]] = {}
    for node in case.walk.nodes():
        if node in dead:
            continue
        for number, value in enumerate(node.outputs):
            if value and _unread(case.walk, node, value) and number in _optional(case.walk, node):
                found.setdefault(node.op, []).append((node, value))
    return found


def _unread(walk: Walk, node: Node, value: str) -> bool:
    return not walk.is_output(node.scope, value) and not walk.readers(node.scope, value)


def _optional(walk: Walk, node: Node) -> frozenset[int]:
    domain = node.proto.domain
    version = walk.opset(node.scope, domain)
    return optional_outputs(node.proto.op_type, domain, version) if version else frozenset()
