"""HL511: Conv and BatchNormalization that ORT did not fold into one convolution."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.inspect.fusions import conv_batchnorm, running, tell

__all__ = ["RULE", "find"]

RULE = Rule(
    code="HL511",
    name="conv-batchnorm-not-fused",
    title="A convolution and its batch normalisation run one after the other",
    severity="warning",
    needs="run",
)


def find(case: Case) -> Iterator[Finding]:
    """One finding for each place, after a few of them one for the rest."""
    if (run := running(case)) is not None:
        yield from tell(RULE, "a single convolution", conv_batchnorm(run))
