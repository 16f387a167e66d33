"""HL512: Conv and an activation that ORT did not make one operator of."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.inspect.fusions import conv_activation, running, tell

__all__ = ["RULE", "find"]

RULE = Rule(
    code="HL512",
    name="conv-activation-not-fused",
    title="A convolution and its activation run one after the other",
    severity="warning",
    needs="run",
)


def find(case: Case) -> Iterator[Finding]:
    """One finding for each place, after a few of them one for the rest."""
    if (run := running(case)) is not None:
        yield from tell(RULE, "one fused convolution", conv_activation(run))
