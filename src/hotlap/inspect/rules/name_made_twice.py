"""HL412: two values of one graph with the same name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.model.walk import Scope

RULE = Rule(code="HL412", name="name-made-twice", title="One name for two values", severity="error")


def find(case: Case) -> Iterator[Finding]:
    for scope in case.walk.scopes:
        met = dict.fromkeys(scope.weights, "a weight")
        met |= dict.fromkeys(scope.inputs, "an input")
        yield from _doubled_inputs(scope)
        for node in scope.nodes:
            for value in filter(None, node.outputs):
                if value in met:
                    yield RULE.found(
                        f'"{value}" is made here, and is {met[value]} already',
                        node=node.label,
                        tensor=value,
                        fix="rename one of the two",
                    )
                met.setdefault(value, f"made by {node.label}")


def _doubled_inputs(scope: Scope) -> Iterator[Finding]:
    # A function lists its inputs as names, a graph as values that have one.
    names = Counter(value if isinstance(value, str) else value.name for value in scope.proto.input)
    for name in (name for name, count in names.items() if count > 1):
        yield RULE.found(f'two inputs are called "{name}"', tensor=name, fix="rename one of the two")
