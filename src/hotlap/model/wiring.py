"""Two models node by node: attributes, what each node reads, and what an output is made of.

Names of nodes and of inner values, and the order of nodes, are a matter of how a file is written. So a node
is first known by what it computes: its operator, its attributes and, down to inputs and weights, what it
reads. Nodes that compute the same are done with; of the others those that make the same value, or have the
same name, or are the next of their operator, are compared one by one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from hotlap.model.walk import Node, Scope, Walk

__all__ = ["NodeChange", "node_changes"]

NodeChange = tuple[Node, str, str | None, str | None]
"""A node; what of it differs (an attribute, ``input 0``, ``output "y"``, or "": the whole node); before;
after."""
_LONGEST = 60
"""Characters of a value that are told."""


def node_changes(a: Walk, b: Walk, renamed: Mapping[str, str]) -> Iterator[NodeChange]:
    """What differs between the nodes of two models.

    Args:
        a, b: the models.
        renamed: weight of the first to its name in the second.
    """
    yield from _Pair(a.root, b.root, _Codes(renamed), _Codes({})).changes()
    ours, theirs = (
        {(s.proto.domain, s.proto.name): s for s in w.scopes if s.outer is None and s is not w.root}
        for w in (a, b)
    )
    for key in ours.keys() & theirs.keys():
        yield from _Pair(ours[key], theirs[key], _Codes({}), _Codes({})).changes()


class _Codes:
    """Digests of what values are computed from, down to inputs and weights."""

    def __init__(self, renamed: Mapping[str, str]) -> None:
        self._renamed = renamed
        self.values: dict[tuple[int, str], str] = {}
        self.nodes: dict[Node, str] = {}

    def add(self, scope: Scope) -> None:
        """The nodes of a scope, in their order; those inside it as well."""
        for place, name in enumerate(_declared(scope)):
            # The inputs of an inner graph are known by their place: their names are its own.
            self.values[id(scope), name] = name if scope.outer is None else f"{_depth(scope)}:{place}"
        for node in scope.nodes:
            code = self._node(node)
            self.nodes[node] = code
            for number, value in enumerate(node.outputs):
                if value:
                    self.values.setdefault((id(scope), value), f"{code}.{number}")

    def of(self, scope: Scope, value: str) -> str:
        here: Scope | None = scope
        while here is not None:
            if (id(here), value) in self.values:
                return self.values[id(here), value]
            if value in here.weights:
                return f"weight {self._renamed.get(value, value)}"
            here = here.outer
        return f"? {value}"

    def _node(self, node: Node) -> str:
        parts = [node.op, *(f"read {self.of(node.scope, v) if v else ''}" for v in node.inputs)]
        parts += sorted(f"{name} = {code}" for name, (code, _) in attributes(node).items())
        parts.append(f"makes {''.join('01'[bool(v)] for v in node.outputs)}")
        for name, scope in inner(node):
            self.add(scope)
            parts.append(f"{name}: {', '.join(self.of(scope, v) for v in scope.outputs)}")
            parts += sorted(self.nodes[n] for n in scope.nodes)
        return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


class _Pair:
    def __init__(self, a: Scope, b: Scope, codes_a: _Codes, codes_b: _Codes, inside: bool = False) -> None:
        self._a, self._b, self._codes_a, self._codes_b = a, b, codes_a, codes_b
        if not inside:
            codes_a.add(a)
            codes_b.add(b)
        self._same, self._pairs, self._gone, self._new = self._matched()
        self._makers = {**self._same, **self._pairs}

    def changes(self) -> Iterator[NodeChange]:
        for one, other in self._pairs.items():
            yield from self._compared(one, other)
        for node in self._gone:
            yield node, "", node.op, None
        for node in self._new:
            yield node, "", None, node.op
        yield from self._outputs()

    def _matched(self) -> tuple[dict[Node, Node], dict[Node, Node], list[Node], list[Node]]:
        left, right = list(self._a.nodes), list(self._b.nodes)
        same = _matched(left, right, self._codes_a.nodes.get, self._codes_b.nodes.get)
        pairs: dict[Node, Node] = {}
        keys: tuple[Callable[[Node], Any], ...] = (
            lambda n: (n.op, n.outputs),
            lambda n: (n.op, n.proto.name) if n.proto.name else None,
            lambda n: n.op,
        )
        for key in keys:
            pairs |= _matched(left, right, key, key)
        return same, pairs, left, right

    def _compared(self, one: Node, other: Node) -> Iterator[NodeChange]:
        ours, theirs = attributes(one), attributes(other)
        for name in {**ours, **theirs}:
            (code, before), (code2, after) = ours.get(name, ("", None)), theirs.get(name, ("", None))
            if code != code2:
                yield one, name, before, f"another {after}" if before == after else after
        reads = max(len(one.inputs), len(other.inputs))
        for place in range(reads):
            names = [n.inputs[place] if place < len(n.inputs) else "" for n in (one, other)]
            if not self._alike(*names):
                yield one, f"input {place}", *self._told(names[0], names[1])
        made = [tuple(map(bool, n.outputs)) for n in (one, other)]
        if made[0] != made[1]:
            yield one, "outputs", str(sum(made[0])), str(sum(made[1]))
        graphs = dict(inner(other))
        for name, scope in inner(one):
            if name in graphs:
                yield from _Pair(scope, graphs[name], self._codes_a, self._codes_b, inside=True).changes()

    def _outputs(self) -> Iterator[NodeChange]:
        """Outputs that are made by another node than before."""
        names = list(zip(self._a.outputs, self._b.outputs, strict=False))
        if self._a.outer is None:
            names = [(name, name) for name in self._a.outputs if name in self._b.outputs]
        for before, after in names:
            maker = self._a.makers.get(before) or self._b.makers.get(after)
            if maker is not None and not self._alike(before, after):
                yield maker, f'output "{before}"', *self._told(before, after, origins=True)

    def _told(self, before: str, after: str, origins: bool = False) -> tuple[str | None, str | None]:
        """Two values by their names; where those are equal, by what makes them."""
        if before != after and not origins:
            return before or None, after or None
        one, other = _origin(self._a, before), _origin(self._b, after)
        return one, f"another {other}" if one == other else other

    def _alike(self, before: str, after: str) -> bool:
        """Whether two names mean the same value, or what two nodes make that are compared by themselves."""
        if not before or not after:
            return before == after
        if self._codes_a.of(self._a, before) == self._codes_b.of(self._b, after):
            return True
        one, other = self._a.makers.get(before), self._b.makers.get(after)
        if one is None or other is None:
            # Of a scope around this one, whose nodes are compared there.
            return one is other and before == after and not self._a.knows(before) and not self._b.knows(after)
        return self._makers.get(one) is other and one.outputs.index(before) == other.outputs.index(after)


def _matched(
    left: list[Node], right: list[Node], key: Callable[[Node], Any], key_right: Callable[[Node], Any]
) -> dict[Node, Node]:
    """Nodes with one key, in their order; they are taken out of both lists."""
    waiting: dict[Any, list[Node]] = {}
    for node in reversed(right):
        waiting.setdefault(key_right(node), []).append(node)
    waiting.pop(None, None)
    found = {n: waiting[key(n)].pop() for n in left if waiting.get(key(n))}
    taken = set(found.values())
    left[:] = [n for n in left if n not in found]
    right[:] = [n for n in right if n not in taken]
    return found


def _origin(scope: Scope, value: str) -> str:
    here: Scope | None = scope
    while here is not None:
        if value in here.makers:
            maker = here.makers[value]
            place = maker.outputs.index(value)
            return f"output {place} of {maker.label}" if place else maker.label
        if value in here.weights:
            return f'weight "{value}"'
        if value in here.inputs:
            return f'input "{value}"'
        here = here.outer
    return f'"{value}", which nothing makes'


def _declared(scope: Scope) -> list[str]:
    # A weight may be among the inputs of a file as well, or not: it is known as a weight.
    if scope.outer is None and not hasattr(scope.proto, "initializer"):
        return list(scope.proto.input)
    return [v.name for v in scope.proto.input if v.name not in scope.weights]


def _depth(scope: Scope) -> int:
    return 0 if scope.outer is None else 1 + _depth(scope.outer)


def inner(node: Node) -> list[tuple[str, Scope]]:
    """(attribute, scope) of each graph inside a node."""
    names = [name for name, _ in node.subgraphs()]
    if not names:
        return []
    before = sum(1 for n in node.scope.nodes[: node.index] for _ in n.subgraphs())
    return list(zip(names, node.scope.inner[before : before + len(names)], strict=True))


def attributes(node: Node) -> dict[str, tuple[str, str]]:
    """Attribute to (digest, words). Inner graphs are left out, and names and remarks of tensors."""
    return {a.name: _attribute(node, a) for a in node.proto.attribute if a.type not in (5, 10)}


def _attribute(node: Node, proto: Any) -> tuple[str, str]:
    if proto.ref_attr_name:
        return f"ref {proto.ref_attr_name}", f"the function's {proto.ref_attr_name}"
    value = node.attribute(proto.name)
    if proto.type == 4:
        bare = type(value)()
        bare.CopyFrom(value)
        bare.ClearField("name")
        bare.ClearField("doc_string")
        code = hashlib.sha256(bare.SerializeToString(deterministic=True)).hexdigest()
        return code, f"a tensor of {list(value.dims)}"
    words = _told(value)
    code = hashlib.sha256(f"{proto.type} {words}".encode("utf-8", "surrogatepass")).hexdigest()
    return code, words if len(words) <= _LONGEST else f"{words[:_LONGEST]} …"


def _told(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_told, value))}]"
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    # Stored as float32, of which Python's own float shows digits that nobody wrote.
    return str(np.float32(value)) if isinstance(value, float) else str(value)
