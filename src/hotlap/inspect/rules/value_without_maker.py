"""HL411: a value that is read or given out, and that nothing makes."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.model.walk import Node, Scope

RULE = Rule(code="HL411", name="value-without-maker", title="A value that nothing makes", severity="error")
_FIX = "export again: a node or a weight was lost on the way"


def find(case: Case) -> Iterator[Finding]:
    found: dict[tuple[int, str], tuple[Scope, Node | None]] = {}
    for scope in case.walk.scopes:
        for node in scope.nodes:
            for value in node.inputs:
                if value and not _made(case, scope, value):
                    found.setdefault((id(scope), value), (scope, node))
        for value in scope.outputs:
            if value and not _made(case, scope, value):
                found.setdefault((id(scope), value), (scope, None))
    for (_, value), (scope, reader) in found.items():
        where = f" of {scope.path.rstrip(' /')}" if scope.path else ""
        what = "is read, but no node, weight or input" if reader else f"is an output{where}, but no node"
        yield RULE.found(
            f'"{value}" {what} makes it', node=reader.label if reader else "", tensor=value, fix=_FIX
        )


def _made(case: Case, scope: Scope, value: str) -> bool:
    if case.walk.home(scope, value) is not None:
        return True
    here: Scope | None = scope
    while here is not None:
        # Functions hold no weights; sparse ones are known by the name of their values.
        sparse = getattr(here.proto, "sparse_initializer", ())
        if any(one.values.name == value for one in sparse):
            return True
        here = here.outer
    return False
