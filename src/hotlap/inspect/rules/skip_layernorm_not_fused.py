"""HL515: Add and a layer normalisation that ORT did not make one operator of."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.inspect.fusions import Kind, running, skip_layer_norm, tell

__all__ = ["RULE", "find"]

RULE = Rule(
    code="HL515",
    name="skip-layernorm-not-fused",
    title="A sum and its layer normalisation run one after the other",
    severity="warning",
    needs="run",
)


MENDS: tuple[Kind, ...] = ("second reader", "graph output in between")
"""First blockers that a fusion before loading gets around."""


def find(case: Case) -> Iterator[Finding]:
    """One finding for each place, after a few of them one for the rest."""
    if (run := running(case)) is not None:
        yield from tell(RULE, "one SkipLayerNormalization", skip_layer_norm(run), MENDS)
