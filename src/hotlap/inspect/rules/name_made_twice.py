"""HL412: two values of one graph with the same name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.model.walk import Scope

RULE = Rule(code="HL412", name="name-made-twice", title="One name for two values", severity="error")


def find(case: Case) -> Iterator[Finding]:
    for scope in case.walk.scopes:
        met = dict.fromkeys(scope.weights, "a weight")
        met |= dict.fromkeys(scope.inputs, "an input")
        yield from _doubled_inputs(scope)
        yield from _doubled_weights(scope)
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
    for name in _doubled(v if isinstance(v, str) else v.name for v in scope.proto.input):
        yield RULE.found(f'two inputs are called "{name}"', tensor=name, fix="rename one of the two")


def _doubled_weights(scope: Scope) -> Iterator[Finding]:
    dense = [t.name for t in getattr(scope.proto, "initializer", ())]  # a function has none
    sparse = [t.values.name for t in getattr(scope.proto, "sparse_initializer", ())]
    for name in _doubled(dense + sparse):
        yield RULE.found(
            f'two weights are called "{name}": ONNX Runtime takes one of them',
            severity="warning",
            tensor=name,
            fix="rename one of the two, or take it out",
        )


def _doubled(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]
