"""Blocked fusions as findings: a place each, the first few of a rule one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from hotlap.inspect.finding import Finding, Rule, Severity
from hotlap.inspect.fusions.blockers import Blocked, Kind

__all__ = ["EACH", "tell"]

EACH = 5
"""So many places of a rule are told one by one; the others are counted."""

_MEND: dict[Kind, str] = {
    "second reader": "let the second reader take the fused result, or do without it",
    "graph output in between": "if nobody needs that output, leave it out of the graph",
    "non-constant weight": "store it as a weight that is no input",
    "wrong dtype": "keep this part in float32 where the CPU is to run it",
    "shape operator in between": "put the shape operator behind the pattern",
    "opset too low": "export it with a newer opset",
    "opset too high": "fuse it before it is loaded",
    "written in another way": "write it in the order that ORT looks for",
}


def tell(
    rule: Rule, wanted: str, found: Iterable[Blocked], mends: Collection[Kind] = ()
) -> Iterator[Finding]:
    """The findings of a rule, one for each node to blame.

    Args:
        rule: whose.
        wanted: what ORT would make of the pattern: ``one convolution``.
        found: the places.
        mends: first blockers for which ``hotlap optimize --fix <code>`` fuses all the same.
    """
    places: dict[int, Blocked] = {}
    for place in found:
        places.setdefault(id(place.node), place)
    told, rest = list(places.values())[:EACH], list(places.values())[EACH:]
    for place in told:
        yield _finding(rule, wanted, place, mends)
    if rest:
        many = "place" if len(rest) == 1 else "places"
        yield Finding(
            code=rule.code,
            severity="warning" if any(_severity(p) == "warning" for p in rest) else "info",
            message=f"{len(rest)} more {many} did not become {wanted}: {_counted(rest)}",
            cost=f"{sum(p.steps - 1 for p in rest)} operators more than fused",
        )


def _finding(rule: Rule, wanted: str, place: Blocked, mends: Collection[Kind]) -> Finding:
    first = place.blockers[0] if place.blockers else None
    fix = "" if first is None else first.mend or _MEND[first.kind]
    if first is not None and first.kind in mends:
        fix = rule.mend
    message = f"{place.pattern} did not become {wanted}: {_reason(place)}"
    return Finding(
        code=rule.code,
        severity=_severity(place),
        message=message[:1].upper() + message[1:],
        node=place.node.label,
        tensor=first.value if first else "",
        cost=f"{place.steps} operators run where one would",
        fix=fix,
    )


def _reason(place: Blocked) -> str:
    if not place.blockers:
        return "what blocked it is not told: none of the known reasons holds"
    first, *others = place.blockers
    more = ", ".join(dict.fromkeys(b.kind for b in others if b.kind != first.kind))
    return f"{first.kind}: {first.why}" + (f" (then also: {more})" if more else "")


def _severity(place: Blocked) -> Severity:
    known = bool(place.blockers) and place.blockers[0].kind != "written in another way"
    return "warning" if known else "info"


def _counted(places: list[Blocked]) -> str:
    kinds = Counter(p.blockers[0].kind if p.blockers else "not told" for p in places)
    return ", ".join(f"{kind} ({count})" for kind, count in kinds.most_common())
