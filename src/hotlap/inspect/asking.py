"""Tensors of integers that serve as shapes, followed number by number from where they come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from hotlap.inspect.dims import Size
from hotlap.model.constants import array
from hotlap.model.walk import Node

if TYPE_CHECKING:
    from hotlap.inspect.shapes import Shapes

__all__ = ["ASKED", "MOST", "Asked", "axis_of", "part"]

MOST = 64
"""A tensor of integers with more elements than this is no shape."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One number of a tensor that serves as a shape: what it is, and the constant that says so."""

    size: Size
    source: str = ""


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
    numbers, at = s.asked(n.proto.input[0]), s.numbers(n, 1)
    if numbers is None or at is None:
        return None
    return tuple(numbers[axis_of(i, len(numbers))] for i in at)


def _asked_sliced(s: Shapes, n: Node) -> _Asked:
    numbers = s.asked(n.proto.input[0])
    start, end, step = s.numbers(n, 1, "starts"), s.numbers(n, 2, "ends"), s.numbers(n, 4) or [1]
    if numbers is None or start is None or end is None or len(start) != 1 or len(end) != 1:
        return None
    return numbers[start[0] : end[0] : step[0]]


def _asked_filled(s: Shapes, n: Node) -> _Asked:
    target = s.numbers(n, 0)
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
    if not isinstance(one, int) or not isinstance(two, int) or (op == "Div" and two <= 0):
        return Asked(None)
    done = {"Add": one + two, "Sub": one - two, "Mul": one * two, "Div": one // (two or 1)}[op]
    return Asked(done, source)


ASKED: Mapping[str, Callable[[Shapes, Node], _Asked]] = {
    "Shape": _asked_of_shape, "Concat": _asked_joined, "Gather": _asked_picked, "Slice": _asked_sliced,
    "ConstantOfShape": _asked_filled,
    **dict.fromkeys(("Identity", "Cast", "Squeeze", "Unsqueeze", "Reshape"), _asked_same),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), _asked_computed),
}  # fmt: skip
