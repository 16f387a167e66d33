"""Copies of a model that also give out values from within it, from the bodies of `If`, `Loop` and `Scan` too.

A value of an inner graph is led out through the outputs of the node around it: as one more output of both
branches of an `If` (an empty array where the other branch was taken), as one more scan output of a `Loop` or
`Scan` (a row for each turn). On its way it becomes float64, since outputs of a branch need a known type.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hotlap.model.graph import onnx
from hotlap.model.walk import Node, Scope, Walk

__all__ = ["Value", "inlined", "tapped", "way_out"]

Value = tuple[str, str]
"""A value and where it is made: (`Scope.path`, name)."""

_DOUBLE = 11  # TensorProto.DataType.DOUBLE
_TURNS = frozenset({"Loop", "Scan"})


def inlined(model: Any) -> Any:
    """The model with its own functions unfolded into its graphs; the very same one where it has none.

    It runs code of onnx's in C++: in a child process, where the file is not trusted.
    """
    if not model.functions:
        return model
    onnx()
    from onnx import inliner

    return inliner.inline_local_functions(model)


def way_out(scope: Scope) -> list[Node] | None:
    """The nodes around an inner graph, from the inside out; None where one of them lets no value out."""
    found: list[Node] = []
    here = scope
    while here.around is not None:
        if here.around.op not in ("If", *_TURNS):
            return None
        found.append(here.around)
        here = here.around.scope
    return found if not here.path else None  # a function's body has no outside


def tapped(model: Any, values: Iterable[Value]) -> tuple[Any, dict[Value, str]]:
    """A copy of the model with these values among its outputs.

    Args:
        model: the ``ModelProto``; it stays as it is. Functions must be `inlined`.
        values: which; made by nodes. Those that no `way_out` leads to are left out.

    Returns:
        the copy, and the name of each value among its outputs. Values of the model's own graph keep name and
        type; others are float64.
    """
    copy = type(model)()
    copy.CopyFrom(model)
    walk = Walk(copy)
    names = _Names(walk)
    given = set(walk.root.outputs)
    found: dict[Value, str] = {}
    for path, value in dict.fromkeys(values):
        scope = next((s for s in walk.scopes if s.path == path and value in s.makers), None)
        outer = None if scope is None else way_out(scope)
        if scope is None or outer is None:
            continue
        name = _led_out(scope, value, outer, names)
        found[path, value] = name
        if name not in given:
            given.add(name)
            copy.graph.output.add(name=name)  # ONNX Runtime finds its type by itself
    return copy, found


class _Names:
    """Names that are free in the whole model."""

    def __init__(self, walk: Walk) -> None:
        self._taken = {v for s in walk.scopes for v in (*s.makers, *s.weights, *s.inputs, *s.readers)}
        self._count = 0

    def new(self) -> str:
        while True:
            self._count += 1
            name = f"tapped_{self._count}"
            if name not in self._taken:
                self._taken.add(name)
                return name


def _led_out(scope: Scope, value: str, outer: list[Node], names: _Names) -> str:
    """The name under which the model's own graph knows the value."""
    if not outer:
        return value
    inner = names.new()
    scope.proto.node.add(op_type="Cast", input=[value], output=[inner]).attribute.add(
        name="to", type=2, i=_DOUBLE
    )
    here = scope
    for node in outer:
        inner = _through(node, here, inner, names)
        assert here.outer is not None
        here = here.outer
    return inner


def _through(node: Node, scope: Scope, value: str, names: _Names) -> str:
    """One step outward: the value is one more output of the node; returns its name there."""
    _declare(scope.proto, value)
    for attribute, graph in node.subgraphs():
        if attribute != scope.attribute:
            _declare(graph, _empty(graph, names.new()))
    for attribute in node.proto.attribute:
        if node.op == "Scan" and attribute.name in ("scan_output_axes", "scan_output_directions"):
            attribute.ints.append(0)
    name = names.new()
    node.proto.output.append(name)
    return name


def _declare(graph: Any, value: str) -> None:
    graph.output.add(name=value).type.tensor_type.elem_type = _DOUBLE


def _empty(graph: Any, name: str) -> str:
    """What a branch gives for a value of the other one."""
    attribute = graph.node.add(op_type="Constant", output=[name]).attribute.add(name="value", type=4)
    attribute.t.data_type = _DOUBLE
    attribute.t.dims.append(0)
    return name
