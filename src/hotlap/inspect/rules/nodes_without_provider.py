"""HL502: nodes that no provider takes that was asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hotlap.inspect.by_operator import by_operator
from hotlap.inspect.case import Case, Ran
from hotlap.inspect.finding import Finding, Rule
from hotlap.inspect.rules.unknown_operator import NO_KERNEL, too_old
from hotlap.model.elements import elements
from hotlap.model.walk import Node, Walk

__all__ = ["NOT_TAKEN", "RULE", "find"]

RULE = Rule(
    code="HL502",
    name="nodes-without-provider",
    title="No provider that was asked for takes some of the nodes",
    severity="error",
    needs="run",
)

NOT_TAKEN = re.compile(r"(\w+) does not take (\d+ of \d+ nodes \(.{0,500}?\)), and the CPU was not asked for")
"""What `hotlap.runtime.chain` says."""


def find(case: Case) -> Iterator[Finding]:
    """One finding: what ORT refused, or what is left to a CPU that was not asked for."""
    ran = case.ran
    if ran is None:
        return
    if kernel := NO_KERNEL.search(ran.refusal):
        if not too_old(case):  # the rule on operators tells it
            yield _no_kernel(case, kernel[1], kernel[2])
    elif taken := NOT_TAKEN.search(ran.refusal):
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
    kinds = elements(walk)
    known = [k for k in dict.fromkeys((*kinds.read(node), *kinds.made(node))) if k]
    return f" of {' and '.join(known)}" if known else ""


def _told(ran: Ran) -> str:
    ours = ran.placement["cpu"]
    total = sum(len(nodes) for nodes in ran.placement.values())
    return f"{len(ours)} of {total} nodes ({by_operator(ours)})"


def _left(providers: str, what: str) -> Finding:
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        message=f"{providers} does not take {what}, and the CPU was not asked for",
        fix="ask for the CPU as well (--providers NAME,cpu), or take those operators out of the model",
    )
