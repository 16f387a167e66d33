"""HL503: tensors that are copied between providers in every run."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.by_operator import by_operator
from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule

__all__ = ["RULE", "find"]

RULE = Rule(
    code="HL503",
    name="copies-between-providers",
    title="Tensors are copied between providers in every run",
    severity="warning",
    needs="run",
)


def find(case: Case) -> Iterator[Finding]:
    """One finding: how many copies, and which nodes are where."""
    ran = case.ran
    if ran is None or not ran.copies:
        return
    order = [*case.runtime.providers, *ran.placement]
    nodes = [(p, ran.placement[p]) for p in dict.fromkeys(order) if ran.placement.get(p)]
    where = "; ".join(f"{len(ops)} nodes on {p}" for p, ops in nodes)
    least = min(nodes, key=lambda found: len(found[1]), default=None) if len(nodes) > 1 else None
    few = f" ({by_operator(least[1])} on {least[0]})" if least else ""
    plural = "tensors are" if ran.copies > 1 else "tensor is"
    yield Finding(
        code=RULE.code,
        severity=RULE.severity,
        message=f"{ran.copies} {plural} copied between providers in every run: {where}{few}",
        cost=f"{ran.copies} copies a run, and the wait for each",
        fix="replace the operators that the first provider does not run, or run all on one provider",
    )
