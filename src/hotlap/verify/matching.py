"""Which value of one model is which value of another: by name, else by place in the order of the nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from hotlap.model.tap import Value, way_out
from hotlap.model.walk import Node, Scope, Walk

__all__ = ["Pair", "in_order", "paired"]

ENOUGH = 0.5
"""With fewer of the values than this found by name, names mean nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """One value of the reference, and the same of the candidate.

    Attributes:
        before, after: the nodes that make it.
        value, other: what it is called on both sides.
    """

    before: Node
    after: Node
    value: str
    other: str

    @property
    def at(self) -> Value:
        return self.before.scope.path, self.value

    @property
    def other_at(self) -> Value:
        return self.after.scope.path, self.other


def in_order(walk: Walk) -> Iterator[Node]:
    """Every node after those that it needs; what is inside of a node comes before the node itself.

    Graphs that let no value out (of functions, and of other nodes than If, Loop and Scan) are left out.
    """
    return _ordered(walk.root)


def _ordered(scope: Scope) -> Iterator[Node]:
    inner: dict[Node | None, list[Scope]] = {}
    for one in scope.inner:
        inner.setdefault(one.around, []).append(one)
    for node in scope.nodes:
        for one in inner.get(node, ()):
            if way_out(one) is not None:
                yield from _ordered(one)
        yield node


def paired(before: Walk, after: Walk) -> tuple[list[Pair], str]:
    """The values that both models have, in the reference's order, and how they were found: "name" or
    "position"."""
    left, right = list(in_order(before)), list(in_order(after))
    named = _by_name(left, right)
    values = sum(1 for node in left for value in node.outputs if value and node.op != "Constant")
    if len([p for p in named if p.before.op != "Constant"]) >= ENOUGH * values:
        return named, "name"
    placed = _by_position(left, right)
    return (placed, "position") if len(placed) > len(named) else (named, "name")


def _by_name(left: list[Node], right: list[Node]) -> list[Pair]:
    makers = {(n.scope.path, v): n for n in right for v in n.outputs if v}
    times = Counter(v for n in right for v in n.outputs if v)
    # A branch keeps its names where the node around it was renamed.
    alone = {v: n for (_, v), n in makers.items() if times[v] == 1}
    found = []
    for node in left:
        for value in filter(None, node.outputs):
            other = makers.get((node.scope.path, value)) or alone.get(value)
            if other is not None:
                found.append(Pair(node, other, value, value))
    return found


def _by_position(left: list[Node], right: list[Node]) -> list[Pair]:
    """Nodes that stand in equal runs of operators, or alone between two such runs on both sides."""
    a, b = ([(n.op, len(n.outputs)) for n in side] for side in (left, right))
    found = []
    for kind, start, end, other, last in SequenceMatcher(a=a, b=b, autojunk=False).get_opcodes():
        if kind not in ("equal", "replace") or end - start != last - other:
            continue
        for one, two in zip(left[start:end], right[other:last], strict=True):
            names = zip(one.outputs, two.outputs, strict=False)
            found += [Pair(one, two, v, w) for v, w in names if v and w]
    return found
