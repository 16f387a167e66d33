"""HL513: MatMul and Add that ORT did not make one Gemm of."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.inspect.fusions import matmul_add, running, tell

__all__ = ["RULE", "find"]

RULE = Rule(
    code="HL513",
    name="matmul-add-not-fused",
    title="A matrix product and its bias run one after the other",
    severity="warning",
    needs="run",
)


def find(case: Case) -> Iterator[Finding]:
    """One finding for each place, after a few of them one for the rest."""
    if (run := running(case)) is not None:
        yield from tell(RULE, "one Gemm", matmul_add(run))
