"""Add and LayerNormalization: ORT adds while it normalises, in a SkipLayerNormalization."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.fusions.blockers import Blocked, along, wrong_dtype
from hotlap.inspect.fusions.graph import Step
from hotlap.inspect.fusions.pattern import Link, before
from hotlap.inspect.fusions.running import Running
from hotlap.model.elements import dtype_name

__all__ = ["skip_layer_norm"]

_SHAPE_OPS = ("Reshape", "Squeeze", "Unsqueeze")


def skip_layer_norm(run: Running) -> Iterator[Blocked]:
    """Sums of two equal shapes of three axes that a layer normalisation still reads as they are."""
    graph = run.executed
    for norm in graph.nodes("LayerNormalization"):
        link = before(graph, norm, 0, ("Add",), _SHAPE_OPS)
        if link is None or not _fits(run, link, norm):
            continue
        added = run.node(link.made)
        if added is None:
            continue
        tensor = graph.walk.constant(norm.scope, norm.inputs[1])
        dtype = "" if tensor is None else dtype_name(tensor.data_type)
        found = (*wrong_dtype((link.made, norm), dtype, ("float32",)), *along(graph, [link]))
        pattern = f'{added.label} and the layer normalisation "{norm.value}"'
        yield Blocked(added, pattern, found, 2 + len(link.crossed))


def _fits(run: Running, link: Link, norm: Step) -> bool:
    """Whether both addends are known to have the same three sizes, and it normalises over the last axis."""
    add = link.made
    left, right = (run.shape(add.scope, v) for v in add.inputs)
    if left is None or left != right or len(left) != 3 or None in left:
        return False
    if any((s := run.shape(c.scope, c.output)) is None or s[-1:] != left[-1:] for c in link.crossed):
        return False
    width = len(run.shape(norm.scope, norm.inputs[0]) or left)
    return norm.node.attribute("axis", -1) in (-1, width - 1)
