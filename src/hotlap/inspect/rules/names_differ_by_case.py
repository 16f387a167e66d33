"""HL406: names of inputs and outputs that differ only in case."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule

RULE = Rule(
    code="HL406", name="names-differ-by-case", title="Names that differ only in case", severity="warning"
)


def find(case: Case) -> Iterator[Finding]:
    kinds = {
        "inputs or outputs": [s.name for s in (*case.anatomy.inputs, *case.anatomy.outputs)],
        "files of external weights": list(case.anatomy.external),
    }
    for kind, names in kinds.items():
        alike: dict[str, dict[str, None]] = {}
        for name in names:
            alike.setdefault(name.casefold(), {})[name] = None
        for group in alike.values():
            if len(group) > 1:
                named = ", ".join(f'"{name}"' for name in group)
                yield RULE.found(
                    f"{kind} differ only in case: {named}",
                    tensor=next(iter(group)) if kind.startswith("inputs") else "",
                    fix="give them names that differ in more",
                )
