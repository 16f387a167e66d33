"""Write Gelu in the one order of its operators that ONNX Runtime fuses as it loads a file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hotlap.model.constants import scalar
from hotlap.model.graph import onnx
from hotlap.model.walk import Node, Walk
from hotlap.passes import face
from hotlap.passes.draft import Draft
from hotlap.passes.graphs import fresh, names, replace_all, sweep
from hotlap.passes.step import Aim, Passed, unchanged

__all__ = ["Gelu"]

_CLOSE = 1e-3
"""How near a constant must be to the number that it stands for; ORT's own fusion takes as much."""
_FLOAT = 1


@dataclass(frozen=True)
class Gelu:
    """Writes Gelu in the order of operators that ONNX Runtime fuses as it loads a file.

    Recent exporters halve ``1 + erf`` first, or multiply by 1/sqrt(2): the runtime then runs five operators
    where it has one. The result is plain ONNX; answers differ by rounding.
    """

    name: ClassVar[str] = "gelu"
    aim: ClassVar[Aim] = "speed"

    def requires(self, draft: Draft) -> str:
        return ""

    def __call__(self, draft: Draft) -> Passed:
        found = list(_odd(draft.walk))
        if not found:
            return unchanged(draft, "no Gelu is written in an order that is not fused")
        proto, taken = draft.copy(), names(draft.proto)
        # The walk is over the draft's own graph; the copy has the same nodes at the same places.
        scopes = dict(zip(map(id, draft.walk.scopes), Walk(proto).scopes, strict=True))
        for one in sorted(found, key=_inside_and_back_first):
            _rewrite(scopes[id(one.last.scope)].proto, one, proto, taken)
        sweep(proto.graph)
        many = f"{len(found)} Gelus are" if len(found) > 1 else "1 Gelu is"
        return Passed(draft.edited(proto), (f"{many} written as ONNX Runtime looks for it",))

    def ensures(self, before: Draft, after: Draft) -> str:
        return face.differences(before, after)


@dataclass(frozen=True, slots=True)
class _Gelu:
    """x, the node that makes the answer, and Erf, whose name the new one keeps."""

    x: str
    erf: Node
    last: Node


def _inside_and_back_first(one: _Gelu) -> tuple[int, int]:
    """So that places of those to come stay right, and graphs inside of nodes the objects that they were."""
    depth, scope = 0, one.last.scope.outer
    while scope is not None:
        depth, scope = depth + 1, scope.outer
    return -depth, -one.last.index


def _odd(walk: Walk) -> Iterator[_Gelu]:
    """Gelus of float32 in graphs whose order is another one."""
    for erf in walk.nodes("Erf"):
        scaled = walk.maker(erf.scope, erf.inputs[0])
        if scaled is None or scaled.scope is not erf.scope or not hasattr(erf.scope.proto, "initializer"):
            continue
        x = _divided(walk, scaled)
        added = _only(walk, erf, "Add")
        if not x or added is None or not _is(walk, added, _beside(added, erf), 1.0):
            continue
        last = _last(walk, added, x)
        if last is not None and (scaled.op == "Mul" or _halves_first(walk, added)):
            yield _Gelu(x, erf, last)


def _divided(walk: Walk, node: Node) -> str:
    """What a node scales by 1/sqrt(2); "" where it does something else."""
    if node.op == "Div":
        return node.inputs[0] if _is(walk, node, node.inputs[1], math.sqrt(2)) else ""
    if node.op != "Mul":
        return ""
    rest = [v for v in node.inputs if not _is(walk, node, v, math.sqrt(0.5))]
    return rest[0] if len(rest) == 1 else ""


def _last(walk: Walk, added: Node, x: str) -> Node | None:
    """The second of the products of 1 + erf with x and 0.5, in any order."""
    first = _only(walk, added, "Mul")
    if first is None:
        return None
    beside = _beside(first, added)
    halved = walk.maker(first.scope, beside)
    if halved is not None and halved.op == "Mul" and x in halved.inputs:
        return first if _is(walk, halved, _other(halved, x), 0.5) else None
    second = _only(walk, first, "Mul")
    if second is None:
        return None
    rest = _beside(second, first)
    pairs = ((beside == x, _is(walk, second, rest, 0.5)), (rest == x, _is(walk, first, beside, 0.5)))
    return second if any(all(pair) for pair in pairs) else None


def _halves_first(walk: Walk, added: Node) -> bool:
    first = _only(walk, added, "Mul")
    return first is not None and _is(walk, first, _beside(first, added), 0.5)


def _only(walk: Walk, node: Node, op: str) -> Node | None:
    """The node of this kind that is the only one to read what a node makes, in the same graph."""
    value = node.outputs[0]
    readers = walk.readers(node.scope, value)
    alone = len(readers) == 1 and not walk.is_output(node.scope, value)
    return readers[0] if alone and readers[0].op == op and readers[0].scope is node.scope else None


def _other(node: Node, value: str) -> str:
    return next((v for v in node.inputs if v != value), "")


def _beside(node: Node, maker: Node) -> str:
    """The operand that does not come from `maker`."""
    return _other(node, maker.outputs[0])


def _is(walk: Walk, node: Node, value: str, wanted: float) -> bool:
    """Whether a value is that number, in float32, whatever a caller does."""
    tensor = walk.constant(node.scope, value) if value else None
    number = scalar(tensor) if tensor is not None and tensor.data_type == _FLOAT else None
    return number is not None and abs(number - wanted) <= _CLOSE * wanted


def _rewrite(graph: Any, gelu: _Gelu, proto: Any, taken: set[str]) -> None:
    """The five operators in the right order, in place of the last one; the others stay for `sweep`."""
    make, stem = onnx().helper.make_node, gelu.erf.outputs[0]
    numbers = {"root": math.sqrt(2), "one": 1.0, "half": 0.5}
    weights = {key: fresh(f"{stem}_{key}", taken) for key in numbers}
    for key, name in weights.items():
        proto.graph.initializer.append(
            onnx().numpy_helper.from_array(np.array(numbers[key], np.float32), name)
        )
    scaled, erf, added, product = (fresh(f"{stem}_{n}", taken) for n in ("scaled", "erf", "plus", "times"))
    nodes = [
        make("Div", [gelu.x, weights["root"]], [scaled]),
        make("Erf", [scaled], [erf], name=gelu.erf.proto.name),
        make("Add", [erf, weights["one"]], [added]),
        make("Mul", [gelu.x, added], [product]),
        make("Mul", [product, weights["half"]], [gelu.last.outputs[0]]),
    ]
    rest, place = list(graph.node), gelu.last.index
    replace_all(graph.node, (*rest[:place], *nodes, *rest[place + 1 :]))
