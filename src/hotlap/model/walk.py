"""Every node of a model with the place where it stands: graphs, the subgraphs inside nodes, functions.

A value's name means something only in a scope: an inner graph sees the names of the graphs around it, a
function sees its own alone. `Walk` answers who makes a value, who reads it, and whether it is constant, with
that in mind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

__all__ = ["ONNX", "Node", "Scope", "Walk"]

ONNX = frozenset({"", "ai.onnx"})
"""Two spellings of ONNX's own domain."""


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """One node where it stands. Equal only to itself.

    Attributes:
        proto: the ``NodeProto``.
        scope: the graph or function whose list of nodes it is in.
        index: its place in that list.
    """

    proto: Any
    scope: Scope
    index: int

    @property
    def op(self) -> str:
        """The operator, with its domain unless that is ONNX's own: ``Conv``, ``com.microsoft.FusedConv``."""
        domain = self.proto.domain
        return self.proto.op_type if domain in ONNX else f"{domain}.{self.proto.op_type}"

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the values read; "" for an optional input that is left out."""
        return tuple(self.proto.input)

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(self.proto.output)

    @property
    def label(self) -> str:
        """Where it is, for people: ``Conv "conv_1"``, ``If "if_3" / then_branch / Conv "conv_1"``."""
        name = self.proto.name or next((f"→ {o}" for o in self.proto.output if o), f"#{self.index}")
        return f'{self.scope.path}{self.op} "{name}"'

    @property
    def from_caller(self) -> bool:
        """Whether an attribute is the caller's: one of a function's, which each call gives another value."""
        return any(a.ref_attr_name for a in self.proto.attribute)

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute as a Python value: int, float, bytes, list of them, TensorProto or GraphProto."""
        found = next((a for a in self.proto.attribute if a.name == name), None)
        return default if found is None else _value(found)

    def subgraphs(self) -> Iterator[tuple[str, Any]]:
        """(attribute, graph) of each graph inside the node."""
        for attribute in self.proto.attribute:
            if attribute.HasField("g"):
                yield attribute.name, attribute.g
            for number, graph in enumerate(attribute.graphs):
                yield f"{attribute.name}[{number}]", graph


def _value(attribute: Any) -> Any:
    # AttributeProto.AttributeType: FLOAT 1, INT 2, STRING 3, TENSOR 4, GRAPH 5, FLOATS 6 … TYPE_PROTOS 14
    field_of = {
        1: "f", 2: "i", 3: "s", 4: "t", 5: "g", 6: "floats", 7: "ints", 8: "strings", 9: "tensors",
        10: "graphs", 11: "sparse_tensor", 12: "sparse_tensors", 13: "tp", 14: "type_protos",
    }  # fmt: skip
    value = getattr(attribute, field_of.get(attribute.type, "s"))
    return list(value) if attribute.type in (6, 7, 8, 9, 10, 12, 14) else value


@dataclass(eq=False, slots=True)
class Scope:
    """A graph, an inner graph or a function: the names that are known in it.

    Attributes:
        proto: the ``GraphProto`` or ``FunctionProto``.
        path: how its nodes' labels begin: "", ``If "if_3" / then_branch / ``, ``function f / ``. No two
            scopes of a model have one path: where a file gives two nodes one name, the second has a number.
        outer: the scope around it, whose names it sees; None for the model's graph and for functions.
        around: the node that it is in; None where it is in none.
        attribute: that node's attribute that holds it.
        nodes: in the file's order.
        makers: value to the node that makes it.
        readers: value to the nodes of this very scope that read it, each as often as it reads it.
        weights: initializer's name to its ``TensorProto``; sparse ones are left out.
        inputs, outputs: names.
        types: value to its ``TypeProto``, where the file tells.
        inner: the scopes inside its nodes.
    """

    proto: Any
    path: str
    outer: Scope | None
    around: Node | None = None
    attribute: str = ""
    nodes: list[Node] = field(default_factory=list)
    makers: dict[str, Node] = field(default_factory=dict)
    readers: dict[str, list[Node]] = field(default_factory=dict)
    weights: dict[str, Any] = field(default_factory=dict)
    inputs: frozenset[str] = frozenset()
    outputs: tuple[str, ...] = ()
    types: dict[str, Any] = field(default_factory=dict)
    inner: list[Scope] = field(default_factory=list)

    def knows(self, value: str) -> bool:
        """Whether the name belongs to this very scope."""
        return value in self.makers or value in self.weights or value in self.inputs


@dataclass(eq=False, slots=True)
class _Seen:
    """(Scope that a value belongs to, its name) to its readers, inner graphs included; and which of them a
    graph gives out."""

    readers: dict[tuple[Scope, str], list[Node]] = field(default_factory=dict)
    outputs: set[tuple[Scope | None, str]] = field(default_factory=set)


class Walk:
    """A model, walked once.

    Args:
        model: the ``ModelProto``.

    Attributes:
        root: the model's own graph.
        scopes: all of them: the root, then what is inside it in the file's order, then functions.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self._opsets: dict[Scope, dict[str, int]] = {}
        paths = _Paths()
        self.root = _filled(_graph_scope(model.graph, "", None), model.graph.node, paths)
        functions = [_function_scope(f, paths) for f in model.functions]
        self.scopes: tuple[Scope, ...] = tuple(s for top in (self.root, *functions) for s in _all(top))

    def nodes(self, *ops: str) -> Iterator[Node]:
        """Every node, or those of some operators (named as in `Node.op`)."""
        for scope in self.scopes:
            for node in scope.nodes:
                if not ops or node.op in ops:
                    yield node

    def home(self, scope: Scope, value: str) -> Scope | None:
        """The scope in which the name is made, looking outward; None where nothing makes it."""
        here: Scope | None = scope
        while here is not None and not here.knows(value):
            here = here.outer
        return here

    def maker(self, scope: Scope, value: str) -> Node | None:
        """The node that makes a value seen from a scope; None for inputs, weights and unknown names."""
        home = self.home(scope, value)
        return home.makers.get(value) if home else None

    def readers(self, scope: Scope, value: str) -> list[Node]:
        """The nodes that read a value, those of inner graphs included, each as often as it reads it."""
        home = self.home(scope, value)
        return [] if home is None else list(self._seen.readers.get((home, value), ()))

    def is_output(self, scope: Scope, value: str) -> bool:
        """Whether a graph that the value belongs to, or one inside that, gives it out under that name."""
        return (self.home(scope, value), value) in self._seen.outputs

    def constant(self, scope: Scope, value: str) -> Any:
        """The ``TensorProto`` of a value that is a weight or made by a ``Constant`` node; else None.

        A weight that is also an input is none: the caller may replace it. The data of a weight may lie in
        another file. Constants written as numbers in the node (``value_float``, ``value_ints`` …) are None
        here.
        """
        home = self.home(scope, value)
        if home is None or value in home.inputs:
            return None
        if value in home.weights:
            return home.weights[value]
        maker = home.makers[value]
        return maker.attribute("value") if maker.op == "Constant" and not maker.from_caller else None

    def is_constant(self, scope: Scope, value: str) -> bool:
        """Whether no caller and no other value can change it."""
        home = self.home(scope, value)
        if home is None or value in home.inputs:
            return False
        maker = home.makers.get(value)
        return maker is None or (maker.op == "Constant" and not maker.from_caller)

    def opset(self, scope: Scope, domain: str) -> int | None:
        """The opset of a domain by which the nodes of a scope are read; None where it is not imported.

        A function's body is read by what the function imports itself (onnx.proto, ``FunctionProto``).
        """
        while scope.outer is not None:
            scope = scope.outer
        if scope not in self._opsets:
            proto = self.model if scope is self.root else scope.proto
            self._opsets[scope] = {_own(o.domain): int(o.version) for o in proto.opset_import}
        return self._opsets[scope].get(_own(domain))

    @cached_property
    def _seen(self) -> _Seen:
        """Told once for all: a file may have thousands of branches, and as many values to ask for."""
        seen = _Seen()
        for scope in self.scopes:
            for value, nodes in scope.readers.items():
                if (home := self.home(scope, value)) is not None:
                    seen.readers.setdefault((home, value), []).extend(nodes)
            for value in scope.outputs:
                if (home := self.home(scope, value)) is not None:
                    seen.outputs.add((home, value))
        return seen

    @cached_property
    def uses_functions(self) -> bool:
        """Whether a node calls one of the model's own functions."""
        known = {(f.domain, f.name) for f in self.model.functions}
        return any((n.proto.domain, n.proto.op_type) in known for n in self.nodes())


def _own(domain: str) -> str:
    return "" if domain in ONNX else domain


def _all(scope: Scope) -> Iterator[Scope]:
    yield scope
    for inner in scope.inner:
        yield from _all(inner)


class _Paths:
    """Paths that are still free: two nodes may have one name, and so may functions of two domains."""

    def __init__(self) -> None:
        self._used = {""}
        self._numbers: dict[str, int] = {}

    def free(self, wanted: str) -> str:
        path, number = f"{wanted} / ", self._numbers.get(wanted, 2)
        while path in self._used:
            path, number = f"{wanted} ({number}) / ", number + 1
            self._numbers[wanted] = number
        self._used.add(path)
        return path


def _graph_scope(graph: Any, path: str, around: Node | None, attribute: str = "") -> Scope:
    return Scope(
        proto=graph,
        path=path,
        outer=around.scope if around else None,
        around=around,
        attribute=attribute,
        weights={t.name: t for t in graph.initializer},
        inputs=frozenset(v.name for v in graph.input),
        outputs=tuple(v.name for v in graph.output),
        types={v.name: v.type for group in (graph.value_info, graph.input, graph.output) for v in group},
    )


def _function_scope(function: Any, paths: _Paths) -> Scope:
    scope = Scope(
        proto=function,
        path=paths.free(f"function {function.name}"),
        outer=None,
        inputs=frozenset(function.input),
        outputs=tuple(function.output),
    )
    return _filled(scope, function.node, paths)


def _filled(scope: Scope, protos: Any, paths: _Paths) -> Scope:
    for index, proto in enumerate(protos):
        node = Node(proto, scope, index)
        scope.nodes.append(node)
        for value in proto.input:
            if value:
                scope.readers.setdefault(value, []).append(node)
        for value in proto.output:
            if value:
                scope.makers.setdefault(value, node)
    # Only now are all names of this scope known to the ones inside.
    for node in scope.nodes:
        for attribute, graph in node.subgraphs():
            inner = _graph_scope(graph, paths.free(f"{node.label} / {attribute}"), node, attribute)
            scope.inner.append(_filled(inner, graph.node, paths))
    return scope
