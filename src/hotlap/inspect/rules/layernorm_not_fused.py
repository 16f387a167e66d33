"""HL514: A layer normalisation in parts that ORT did not put together."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.inspect.fusions import layer_norm, running, tell

__all__ = ["RULE", "find"]

RULE = Rule(
    code="HL514",
    name="layernorm-not-fused",
    title="A layer normalisation runs operator by operator",
    severity="warning",
    needs="run",
)


def find(case: Case) -> Iterator[Finding]:
    """One finding for each place, after a few of them one for the rest."""
    if (run := running(case)) is not None:
        yield from tell(RULE, "one LayerNormalization", layer_norm(run))
