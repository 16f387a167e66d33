"""Conv and BatchNormalization: ORT scales the convolution's weights once, at load."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.fusions.blockers import Blocked, Blocker, along, not_constant
from hotlap.inspect.fusions.graph import Graph, Step
from hotlap.inspect.fusions.pattern import Link, before
from hotlap.inspect.fusions.running import Running
from hotlap.model.constants import integers
from hotlap.model.elements import dtype_name
from hotlap.model.walk import Node, Walk

__all__ = ["conv_batchnorm"]


def conv_batchnorm(run: Running) -> Iterator[Blocked]:
    """Normalisations that still follow a convolution as steps of their own."""
    graph = run.executed
    for norm in graph.nodes("BatchNormalization"):
        link = before(graph, norm, 0, ("Conv",), {"Reshape"})
        if link is None or _quantised(graph, link):
            continue
        if not all(_keeps_channels(graph, s, norm) for s in link.crossed):
            continue
        conv, normed = run.node(link.made), run.node(norm)
        if conv is None or normed is None or normed.attribute("training_mode", 0):
            continue
        found = (
            *along(graph, [link]),
            *not_constant(graph, norm.scope, link.made.inputs[1:3]),
            *_statistics(graph, norm),
            *_types(run.file, conv, normed),
        )
        yield Blocked(conv, f"{conv.label} and {normed.label}", found, 2 + len(link.crossed))


def _statistics(graph: Graph, norm: Step) -> Iterator[Blocker]:
    # In a blocked layout a normalisation is a convolution: ORT makes one of constant statistics only.
    if norm.node.op == norm.op:
        yield from not_constant(graph, norm.scope, norm.inputs[1:5])


def _types(file: Walk, conv: Node, norm: Node) -> Iterator[Blocker]:
    weights = (conv.inputs[1], *norm.inputs[1:5])
    tensors = (file.constant(norm.scope, v) for v in weights)
    kinds = sorted({dtype_name(t.data_type) for t in tensors if t is not None})
    if len(kinds) > 1:
        yield Blocker("wrong dtype", f"weights and statistics are a mix of {' and '.join(kinds)}")


def _keeps_channels(graph: Graph, reshape: Step, norm: Step) -> bool:
    """Whether axes 0 and 1 stay what they are, so that normalising first would give the same."""
    target = integers(graph.walk.constant(reshape.scope, reshape.inputs[1]))
    scale = graph.walk.constant(norm.scope, norm.inputs[1])
    channels = (0, *scale.dims) if scale is not None else (0,)
    return target is not None and len(target) > 2 and target[0] == 0 and target[1] in channels


def _quantised(graph: Graph, link: Link) -> bool:
    makers = (graph.maker(link.made.scope, v) for v in link.made.inputs[1:] if v)
    return any(m is not None and m.op.endswith("DequantizeLinear") for m in makers)
