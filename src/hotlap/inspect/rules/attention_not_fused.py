"""HL517: An attention in parts that ORT did not put together."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.inspect.fusions import Kind, attention, running, tell

__all__ = ["RULE", "find"]

RULE = Rule(
    code="HL517",
    name="attention-not-fused",
    title="An attention runs operator by operator",
    severity="warning",
    needs="run",
)


MENDS: tuple[Kind, ...] = ("opset too high", "opset too low", "written in another way")
"""First blockers that a fusion before loading gets around."""


def find(case: Case) -> Iterator[Finding]:
    """One finding for each place, after a few of them one for the rest."""
    if (run := running(case)) is not None:
        yield from tell(RULE, "one Attention", attention(run), MENDS)
