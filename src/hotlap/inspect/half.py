"""Half precision: what it can hold, and where a model's values leave that."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hotlap.inspect.case import Case, Range
from hotlap.inspect.computing import MOVES, after_moves
from hotlap.model.elements import elements
from hotlap.model.walk import Node, Walk

__all__ = ["LARGEST", "OVERFLOW", "SMALLEST", "SMALLEST_NORMAL", "Crossing", "crossings", "in_half"]

LARGEST = 65504.0
"""The largest float16 (IEEE 754 binary16)."""
OVERFLOW = 65520.0
"""From here on a number rounds to infinity; what is below rounds to `LARGEST`."""
SMALLEST_NORMAL = 2.0**-14
"""6.1e-5: what is smaller has fewer than 11 bits."""
SMALLEST = 2.0**-24
"""6e-8: the smallest above 0. What is half of it or less rounds to 0."""

_MASKING = frozenset({"Add", "Sum", "Mul", "Sub", "Where", "Max", "Min", "com.microsoft.FusedMatMul"})


def in_half(walk: Walk) -> list[Node]:
    """The nodes that compute with float16 numbers."""
    types = elements(walk)
    return [
        n
        for n in walk.nodes()
        if n.op not in MOVES and ("float16" in types.read(n) or "float16" in types.made(n))
    ]


@dataclass(frozen=True, slots=True)
class Crossing:
    """A node whose output leaves a limit that none of its inputs left.

    Attributes:
        node: it.
        value: the output.
        peak: the largest magnitude that it held; inf where it was not finite.
        stored: the value is float16 in the file; False: it would be after a conversion.
        masks: large negative numbers alone, on their way to a Softmax: a mask, which may be minus infinity.
    """

    node: Node
    value: str
    peak: float
    stored: bool
    masks: bool


def crossings(case: Case, limit: float) -> Iterator[Crossing]:
    """Where values first reach a magnitude; only among the float16 ones, if there is any in the model."""
    ranges = case.ran.ranges if case.ran else {}
    if not ranges:
        return
    types, root = elements(case.walk), case.walk.root
    has_half = any(types.of(root, v) == "float16" for v in ranges) or bool(in_half(case.walk))
    wanted = "float16" if has_half else "float32"
    constants = {
        w.value: math.inf if w.inf or w.nan else max(abs(w.low or 0.0), abs(w.high or 0.0))
        for w in case.weights.values()
        if w.value and not w.scope
    }
    for node in root.nodes:
        # What comes from another type was never bound to the limit.
        before = [v for v in node.inputs if v and types.of(root, v) in (wanted, "")]
        if any(_before(v, ranges, constants) >= limit for v in before):
            continue
        for value in node.outputs:
            held = ranges.get(value)
            if held is None or types.of(root, value) != wanted or _peak(held) < limit:
                continue
            yield Crossing(node, value, _peak(held), has_half, _masks(case.walk, node, held, limit))


def _before(value: str, ranges: Mapping[str, Range], constants: Mapping[str, float]) -> float:
    held = ranges.get(value)
    return constants.get(value, 0.0) if held is None else _peak(held)


def _peak(held: Range) -> float:
    return max(abs(held.low), abs(held.high)) if held.finite else math.inf


def _masks(walk: Walk, node: Node, held: Range, limit: float) -> bool:
    if held.high >= limit:
        return False
    left, seen = [node], {node}
    ends = []
    while left and len(seen) < 64:
        for reader in after_moves(walk, left.pop()):
            if reader in seen:
                continue
            seen.add(reader)
            if reader.op in _MASKING:
                left.append(reader)
            else:
                ends.append(reader.op)
    return bool(ends) and all(op in ("Softmax", "LogSoftmax") for op in ends)
