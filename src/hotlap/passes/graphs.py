"""Small changes of a ``ModelProto`` that several passes make: rename a value, sweep what nobody reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from hotlap.model.walk import ONNX

__all__ = [
    "all_graphs",
    "clear_the_way",
    "fresh",
    "holds_sparse",
    "inner_graphs",
    "keep",
    "names",
    "names_in",
    "part_names",
    "reads",
    "rename_values",
    "replace_all",
    "set_property",
    "sweep",
    "sweep_opsets",
    "sweep_weights",
    "symbol_of",
]


def inner_graphs(node: Any) -> Iterator[Any]:
    """The graphs inside a node, not those inside them."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def all_graphs(graph: Any) -> Iterator[Any]:
    """A graph and all graphs inside it, at any depth. A function counts as one."""
    yield graph
    for node in graph.node:
        for inner in inner_graphs(node):
            yield from all_graphs(inner)


def holds_sparse(proto: Any) -> bool:
    """Whether it has sparse weights, or constants: several tools lose them, or fail in ways of their own."""
    graphs = list(all_graphs(proto.graph))
    nodes = (n for g in (*graphs, *proto.functions) for n in g.node)
    return any(len(g.sparse_initializer) for g in graphs) or any(
        a.HasField("sparse_tensor") for n in nodes for a in n.attribute
    )


def symbol_of(dim: Any) -> str:
    """The name of an axis; "" where it has a size, or none, or is called "?", which many may be at once."""
    name = str(dim.dim_param)
    return name if name.strip("? ") else ""


def replace_all(repeated: Any, kept: Iterable[Any]) -> None:
    """Make a repeated field hold these alone; some of them may be in it already."""
    copies = []
    for one in kept:
        copy = type(one)()
        copy.CopyFrom(one)
        copies.append(copy)
    del repeated[:]
    repeated.extend(copies)


def names(proto: Any) -> set[str]:
    """Every name of a value in the graph and in the graphs inside it."""
    found: set[str] = set()
    for graph in all_graphs(proto.graph):
        found |= names_in(graph)
        found.update(v for node in graph.node for v in node.input if v)
        found.update(v.name for v in graph.output)
    return found


def fresh(wanted: str, taken: set[str]) -> str:
    """`wanted`, or `wanted_1`, …: a name that is not taken; it is from now on."""
    name, number = wanted, 0
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    taken.add(name)
    return name


def names_in(graph: Any) -> set[str]:
    """Names that are made in this very graph."""
    return (
        {v.name for v in graph.input}
        | {t.name for t in graph.initializer}
        | {s.values.name for s in graph.sparse_initializer}
        | {v for node in graph.node for v in node.output if v}
    )


# ── renaming ──────────────────────────────────────────────────────────────────────────────────────────


def rename_values(graph: Any, new: Mapping[str, str]) -> None:
    """Rename values of a graph in place, where they are read in the graphs inside it as well.

    Every value of any of those graphs that has one of the new names, and is not itself renamed, must have
    been moved out of the way before.
    """

    def name(old: str) -> str:
        return new.get(old, old)

    for value in (*graph.input, *graph.output, *graph.value_info):
        value.name = name(value.name)
    for tensor in graph.initializer:
        tensor.name = name(tensor.name)
    for sparse in graph.sparse_initializer:
        sparse.values.name = name(sparse.values.name)
    for note in graph.quantization_annotation:
        note.tensor_name = name(note.tensor_name)
        for entry in note.quant_parameter_tensor_names:
            entry.value = name(entry.value)
    for node in graph.node:
        for values in (node.input, node.output):
            for place, old in enumerate(values):
                if old in new:
                    values[place] = new[old]
        for inner in inner_graphs(node):
            shadowed = names_in(inner)  # these are other values of the same name
            seen = {old: to for old, to in new.items() if old not in shadowed}
            if seen:
                rename_values(inner, seen)


def clear_the_way(proto: Any, wanted: Iterable[str], keep: Iterable[str]) -> list[str]:
    """Give other names to values that bear a wanted one; those of the model's own graph in `keep` stay.

    Returns:
        the names that were in the way.
    """
    taken, kept, moved = names(proto), set(keep), []
    for graph in list(all_graphs(proto.graph)):
        clash = {
            old: fresh(old, taken)
            for old in wanted
            if old in names_in(graph) and not (graph is proto.graph and old in kept)
        }
        if clash:
            rename_values(graph, clash)
            moved += list(clash)
    return moved


def part_names(proto: Any, known: set[str]) -> None:
    """Give names of their own to values of inner graphs whose name is used elsewhere; those in `known` stay.

    ORT unfolds an operator into others under the same new names in every graph that has it, and then refuses
    to load that.
    """
    taken, seen = names(proto), set(known)
    for graph in list(all_graphs(proto.graph)):
        own = names_in(graph) - known
        clash = {old: fresh(old, taken) for old in own & seen if graph is not proto.graph}
        seen |= own
        if clash:
            rename_values(graph, clash)


# ── sweeping ──────────────────────────────────────────────────────────────────────────────────────────


def sweep(graph: Any) -> tuple[int, int]:
    """Remove nodes and weights that nothing reads, in the graphs inside as well; of a function its nodes.

    Inputs and outputs of graphs stay, and so do weights that are inputs: they are part of the face.

    Returns:
        how many nodes and how many weights went.
    """
    nodes = weights = 0
    for node in graph.node:
        for inner in inner_graphs(node):
            swept = sweep(inner)
            nodes, weights = nodes + swept[0], weights + swept[1]
    function = not hasattr(graph, "initializer")
    alive = set(graph.output) if function else {v.name for v in graph.output}
    nodes += _sweep_nodes(graph, alive)
    if function:
        return nodes, weights
    face = {v.name for v in graph.input}
    weights += keep(graph.initializer, lambda t: t.name in alive or t.name in face)
    weights += keep(graph.sparse_initializer, lambda s: s.values.name in alive or s.values.name in face)
    if nodes or weights:
        known = names_in(graph)
        keep(graph.value_info, lambda v: v.name in known)
        keep(graph.quantization_annotation, lambda a: a.tensor_name in known)
    return nodes, weights


def sweep_weights(graph: Any) -> int:
    """Remove the weights that nothing reads and that are no inputs, in the graphs inside as well.

    Returns:
        how many went.
    """
    alive = {v.name for v in (*graph.input, *graph.output)}
    gone = 0
    for node in graph.node:
        alive |= reads(node)
        gone += sum(sweep_weights(inner) for inner in inner_graphs(node))
    gone += keep(graph.initializer, lambda t: t.name in alive)
    gone += keep(graph.sparse_initializer, lambda s: s.values.name in alive)
    if gone:
        known = names_in(graph)
        keep(graph.value_info, lambda v: v.name in known)
        keep(graph.quantization_annotation, lambda a: a.tensor_name in known)
    return gone


def _sweep_nodes(graph: Any, alive: set[str]) -> int:
    """Remove the nodes that lead to none of these values; `alive` gets those that the others read."""
    dead: list[int] = []
    for place in range(len(graph.node) - 1, -1, -1):  # makers stand before readers
        node = graph.node[place]
        if any(output in alive for output in node.output):
            alive |= reads(node)
        else:
            dead.append(place)
    for place in dead:
        del graph.node[place]
    return len(dead)


def keep(repeated: Any, wanted: Callable[[Any], bool]) -> int:
    """Remove what is not wanted, without copying what is; returns how many went."""
    gone = [place for place, one in enumerate(repeated) if not wanted(one)]
    for place in reversed(gone):
        del repeated[place]
    return len(gone)


def reads(node: Any) -> set[str]:
    """The values that a node reads, those that the graphs inside it read from around it too."""
    found = {v for v in node.input if v}
    for inner in inner_graphs(node):
        made: set[str] = names_in(inner)
        wanted = {v.name for v in inner.output}
        for one in inner.node:
            wanted |= reads(one)
        found |= wanted - made
    return found


def sweep_opsets(proto: Any) -> list[str]:
    """Remove imports of operator sets, and functions, that no node uses; returns the domains that went."""
    while keep(proto.functions, partial(_is_called, _calls(proto))):
        pass
    used = {"" if n.domain in ONNX else n.domain for g in _everywhere(proto) for n in g.node}
    used.add("")  # a model of no ONNX node at all must still say its version
    gone = [o.domain for o in proto.opset_import if ("" if o.domain in ONNX else o.domain) not in used]
    keep(proto.opset_import, lambda o: o.domain not in gone)
    return gone


def _calls(proto: Any) -> set[tuple[str, str]]:
    return {(n.domain, n.op_type) for g in _everywhere(proto) for n in g.node}


def _is_called(calls: set[tuple[str, str]], function: Any) -> bool:
    return (function.domain, function.name) in calls


def _everywhere(proto: Any) -> Iterator[Any]:
    yield from all_graphs(proto.graph)
    for function in proto.functions:
        yield from all_graphs(function)


def set_property(proto: Any, key: str, value: str) -> None:
    """Set an entry of the model's metadata."""
    keep(proto.metadata_props, lambda e: e.key != key)
    proto.metadata_props.add(key=key, value=value)
