"""Tensors of integers that serve as shapes, followed number by number from where they come."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Protocol

import numpy as np

from hotlap.inspect.dims import Clash, Dims, Size
from hotlap.model.constants import array, constant
from hotlap.model.walk import Node, Scope, Walk

if TYPE_CHECKING:
    from hotlap.inspect.shapes import Shapes

__all__ = ["ASKED", "MOST", "Asked", "Given", "axis_of", "literal", "numbers", "part"]

MOST = 64
"""A tensor of integers with more elements than this is no shape."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One number of a tensor that serves as a shape: what it is, and the constant that says so."""

    size: Size
    source: str = ""


class Given(Protocol):
    """What is known of that which a node reads."""

    @property
    def walk(self) -> Walk: ...

    def input(self, node: Node, number: int) -> Dims | None:
        """The shape of an input; None where not even its rank is known, or where it is left out."""

    def ints(self, node: Node, number: int) -> tuple[Asked, ...] | None:
        """An input of integers, number by number; None where not even their count is known."""

    def pin(self, node: Node, clashes: Sequence[Clash], source: str = "") -> None:
        """Takes note of symbols that the node pins down, and of the constant to blame."""


def numbers(given: Given, node: Node, number: int, attribute: str = "") -> list[int] | None:
    """Integers that the node reads from a constant, or from an attribute in older opsets."""
    said = node.attribute(attribute) if attribute else None
    if said is not None:
        return [int(i) for i in (said if isinstance(said, list) else [said])]
    asked = given.ints(node, number)
    if asked is None or not all(isinstance(a.size, int) for a in asked):
        return None
    return [int(a.size) for a in asked if isinstance(a.size, int)]


def literal(walk: Walk, scope: Scope, value: str) -> tuple[Asked, ...] | None:
    """The numbers of a small constant of integers, with its name; None for anything else."""
    tensor = walk.constant(scope, value)
    if tensor is not None:
        small = len(tensor.dims) <= 1 and all(0 <= d <= MOST for d in tensor.dims)
        found = array(tensor) if small else None
    else:
        found = constant(walk, scope, value)
    if found is None or found.size > MOST or not np.issubdtype(found.dtype, np.integer):
        return None
    return tuple(Asked(int(n), value) for n in found.reshape(-1))


def axis_of(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(axis)
    return axis % rank


def part(n: Node, rank: int) -> slice:
    start, end = n.attribute("start", 0), n.attribute("end", rank)
    start, end = (min(max(i + rank if i < 0 else i, 0), rank) for i in (start, end))
    return slice(start, end)


_Asked = tuple[Asked, ...] | None


def _asked_of_shape(s: Shapes, n: Node) -> _Asked:
    x = s.input(n, 0)
    return None if x is None else tuple(Asked(d) for d in x[part(n, len(x))])


def _asked_same(s: Shapes, n: Node) -> _Asked:
    return s.asked(n.proto.input[0])


def _asked_joined(s: Shapes, n: Node) -> _Asked:
    parts = [s.asked(v) for v in n.proto.input]
    known = [p for p in parts if p is not None]
    return sum(known, ()) if len(known) == len(parts) and n.attribute("axis", 0) in (0, -1) else None


def _asked_picked(s: Shapes, n: Node) -> _Asked:
    asked, at = s.asked(n.proto.input[0]), numbers(s, n, 1)
    if asked is None or at is None:
        return None
    return tuple(asked[axis_of(i, len(asked))] for i in at)


def _asked_sliced(s: Shapes, n: Node) -> _Asked:
    asked = s.asked(n.proto.input[0])
    start, end = numbers(s, n, 1, "starts"), numbers(s, n, 2, "ends")
    step = numbers(s, n, 4) if any(n.proto.input[4:5]) else [1]
    if asked is None or start is None or end is None or step is None:
        return None
    if not len(start) == len(end) == len(step) == 1:
        return None
    return asked[start[0] : end[0] : step[0]]


def _asked_filled(s: Shapes, n: Node) -> _Asked:
    target = numbers(s, n, 0)
    tensor = n.attribute("value")
    fill = array(tensor) if tensor is not None else None
    if target is None or len(target) > 1 or fill is None or not np.issubdtype(fill.dtype, np.integer):
        return None
    count = target[0] if target else 1
    return (Asked(int(fill.reshape(-1)[0]), n.proto.output[0]),) * min(max(count, 0), MOST)


def _asked_computed(s: Shapes, n: Node) -> _Asked:
    a, b = s.asked(n.proto.input[0]), s.asked(n.proto.input[1])
    if a is None or b is None or (len(a) != len(b) and 1 not in (len(a), len(b))):
        return None
    pairs = zip_longest(a, b, fillvalue=a[0] if len(a) == 1 else b[0])
    return tuple(_computed(n.proto.op_type, one, two) for one, two in pairs)


def _computed(op: str, a: Asked, b: Asked) -> Asked:
    one, two = a.size, b.size
    source = a.source or b.source
    if op == "Mul" and 1 in (one, two):
        return Asked(two if one == 1 else one, source)
    if not isinstance(one, int) or not isinstance(two, int) or (op == "Div" and two == 0):
        return Asked(None)
    return Asked(_COMPUTED[op](one, two), source)


def _divided(one: int, two: int) -> int:
    """As ONNX divides integers: towards zero."""
    size = abs(one) // abs(two)
    return size if (one < 0) == (two < 0) else -size


_COMPUTED: Mapping[str, Callable[[int, int], int]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "Div": _divided,
}


ASKED: Mapping[str, Callable[[Shapes, Node], _Asked]] = {
    "Shape": _asked_of_shape, "Concat": _asked_joined, "Gather": _asked_picked, "Slice": _asked_sliced,
    "ConstantOfShape": _asked_filled,
    **dict.fromkeys(("Identity", "Cast", "Squeeze", "Unsqueeze", "Reshape"), _asked_same),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), _asked_computed),
}  # fmt: skip
