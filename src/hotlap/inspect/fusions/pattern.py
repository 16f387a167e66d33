"""Finding a pattern in a graph: steps by operator, backwards and forwards, past shape operators."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from hotlap.inspect.fusions.graph import Graph, Step

__all__ = ["SHAPE_OPS", "Link", "after", "before", "either", "made", "other"]

SHAPE_OPS = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose"})
"""Operators that compute nothing: each number of the result is one of the input."""


@dataclass(frozen=True, slots=True)
class Link:
    """A value that only its own pattern may read, for ORT to fuse it away.

    Attributes:
        made: the step that makes it.
        users: the steps of the pattern that read it.
        crossed: shape operators between the two, in the order in which the data meets them.
    """

    made: Step
    users: tuple[Step, ...]
    crossed: tuple[Step, ...] = ()


def made(graph: Graph, step: Step | None, place: int, op: str) -> Step | None:
    """The step that makes one input of another, if it is of that operator."""
    if step is None or place >= len(step.inputs):
        return None
    found = graph.maker(step.scope, step.inputs[place])
    return found if found is not None and found.op == op else None


def either(graph: Graph, step: Step | None, op: str) -> Step | None:
    """The step of that operator that makes the first or the second input of another."""
    return made(graph, step, 0, op) or made(graph, step, 1, op)


def other(step: Step, value: str) -> str:
    """Of two inputs the one that is not `value`."""
    return step.inputs[1] if step.inputs[0] == value else step.inputs[0]


def before(
    graph: Graph, step: Step, place: int, ops: Collection[str], past: Collection[str] = SHAPE_OPS
) -> Link | None:
    """The step of some operator that makes one input of another, looking past shape operators."""
    if place >= len(step.inputs):
        return None
    crossed: list[Step] = []
    found = graph.maker(step.scope, step.inputs[place])
    while found is not None and found.op in past and found.inputs:
        crossed.insert(0, found)
        found = graph.maker(found.scope, found.inputs[0])
    return Link(found, (step,), tuple(crossed)) if found is not None and found.op in ops else None


def after(
    graph: Graph, step: Step | None, op: str, past: Collection[str] = SHAPE_OPS, most: int = 4
) -> Link | None:
    """The step of some operator that reads another's result, looking past so many shape operators at most."""
    if step is None:
        return None
    for reader in graph.readers(step):
        if reader.op == op:
            return Link(step, (reader,))
        if most and reader.op in past and (further := after(graph, reader, op, past, most - 1)):
            return Link(step, further.users, (reader, *further.crossed))
    return None
