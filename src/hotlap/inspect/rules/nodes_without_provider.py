"""HL502: nodes that no provider takes that was asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hotlap.inspect.case import Case, Ran
from hotlap.inspect.counting import by_operator
from hotlap.inspect.finding import Finding, Rule
from hotlap.inspect.fusions.constants import dtype_name
from hotlap.model.walk import Node, Walk

__all__ = ["RULE", "SAID", "find"]

RULE = Rule(
    code="HL502",
    name="nodes-without-provider",
    title="No provider that was asked for takes some of the nodes",
    severity="error",
    needs="run",
)

SAID = re.compile(r"Could not find an implementation for (\w[\w.]*)\(\d+\) node with name '(.{0,500}?)'")
"""What ORT says where it has the operator, but no code for it with these types."""
_NOT_TAKEN = re.compile(
    r"(\w+) does not take (\d+ of \d+ nodes \(.{0,500}?\)), and the CPU was not asked for"
)
"""What `hotlap.runtime.chain` says."""


def find(case: Case) -> Iterator[Finding]:
    """One finding: what ORT refused, or what is left to a CPU that was not asked for."""
    ran = case.ran
    if ran is None:
        return
    if kernel := SAID.search(ran.refusal):
        yield _no_kernel(case, kernel[1], kernel[2])
    elif taken := _NOT_TAKEN.search(ran.refusal):
        yield _left(taken[1], taken[2])
    elif "cpu" in ran.placement and "cpu" not in case.runtime.providers:
        yield _left(", ".join(case.runtime.providers), _told(ran))


def _no_kernel(case: Case, op: str, name: str) -> Finding:
    alike = list(case.walk.nodes(op))
    named = [n for n in alike if n.proto.name == name] if name else alike[:1]
    node = named[0] if len(named) == 1 else None
    types = _types(case.walk, node) if node else ""
    where = f"; the file has {len(alike)} {op}" if len(alike) > 1 else ""
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        message=f"ORT does not load the model: {op}{types} has no kernel here{where}",
        node=node.label if node and name else "",
        fix="use a type that the provider computes in (on the CPU float32, as a rule), or another provider",
    )


def _types(walk: Walk, node: Node) -> str:
    kinds: Iterable[str] = (_dtype(walk, node, v) for v in (*node.inputs, *node.outputs) if v)
    known = [k for k in dict.fromkeys(kinds) if k]
    return f" of {' and '.join(known)}" if known else ""


def _dtype(walk: Walk, node: Node, value: str) -> str:
    home = walk.home(node.scope, value)
    if home is None:
        return ""
    if value in home.types:
        return dtype_name(home.types[value].tensor_type.elem_type)
    tensor = walk.constant(home, value)
    return "" if tensor is None else dtype_name(tensor.data_type)


def _told(ran: Ran) -> str:
    ours = ran.placement["cpu"]
    total = sum(len(nodes) for nodes in ran.placement.values())
    return f"{len(ours)} of {total} nodes ({by_operator(ours)})"


def _left(providers: str, what: str) -> Finding:
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        message=f"{providers} does not take {what}, and the CPU was not asked for",
        fix="ask for the CPU as well (--ep NAME,cpu), or take those operators out of the model",
    )
