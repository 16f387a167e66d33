"""HL501: a provider was asked for that does not load here."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule

__all__ = ["RULE", "find"]

RULE = Rule(
    code="HL501",
    name="provider-does-not-load",
    title="A provider that was asked for does not load",
    severity="error",
    needs="run",
)


def find(case: Case) -> Iterator[Finding]:
    """One finding for each provider that refused, with its reason."""
    refusals = {} if case.ran is None else case.ran.provider_refusals
    for provider, reason in refusals.items():
        yield Finding(
            code=RULE.code,
            severity=RULE.severity,
            message=f"{provider} does not load: {reason}",
            fix="hotlap doctor tells what the provider needs and what of it is here",
        )
