"""HL410: equal weights that are stored more than once."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.model.weights import WeightStats

RULE = Rule(
    code="HL410",
    name="duplicate-constants",
    title="Equal weights are stored more than once",
    severity="warning",
)
LEAST = 64 << 10
"""Bytes stored in vain from which on a group is worth a word."""
_MOST_GROUPS, _MOST_NAMED = 5, 3


def find(case: Case) -> Iterator[Finding]:
    groups: dict[str, list[WeightStats]] = {}
    for one in case.weights.values():
        if one.digest:
            groups.setdefault(one.digest, []).append(one)
    worth = [group for group in groups.values() if _waste(group) >= LEAST]
    worth.sort(key=_waste, reverse=True)
    for group in worth[:_MOST_GROUPS]:
        named = ", ".join(f'"{one.name}"' for one in group[:_MOST_NAMED])
        yield RULE.found(
            f"{len(group)} equal tensors {group[0].dtype}{list(group[0].shape)}: {named}"
            f"{', …' if len(group) > _MOST_NAMED else ''}",
            tensor=group[0].name,
            cost=f"{_waste(group):,} bytes in the file and in memory",
            fix=RULE.mend,
        )
    if len(worth) > _MOST_GROUPS:
        rest = worth[_MOST_GROUPS:]
        yield RULE.found(
            f"{len(rest)} more groups of equal tensors",
            cost=f"{sum(map(_waste, rest)):,} bytes in the file and in memory",
            fix=RULE.mend,
        )


def _waste(group: list[WeightStats]) -> int:
    return (len(group) - 1) * group[0].nbytes
