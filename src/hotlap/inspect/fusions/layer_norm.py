"""A layer normalisation written out in nine operators: ORT makes one LayerNormalization of them.

Where only its mean or its bias is in the way, ORT makes a SimplifiedLayerNormalization of the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from hotlap.inspect.fusions.blockers import Blocked, Blocker, along, not_constant, wrong_dtype
from hotlap.inspect.fusions.graph import Graph, Step
from hotlap.inspect.fusions.pattern import Link, after, before, either, made, other
from hotlap.inspect.fusions.running import Running
from hotlap.model.constants import integers
from hotlap.model.elements import dtype_name

__all__ = ["layer_norm"]

_SIMPLIFIED = "SimplifiedLayerNormalization"
_OPERATOR = 17
"""The opset since which ONNX has the operator."""


def layer_norm(run: Running) -> Iterator[Blocked]:
    """Layer normalisations that still stand in the executed graph, whole or in part."""
    graph = run.executed
    for step in graph.nodes("Div", _SIMPLIFIED):
        head, tail = _head(graph, step), _tail(graph, step)
        if head is None or tail is None or not _fits(run, head, tail):
            continue
        first, last = run.node(head[0].made), run.node(tail[-1].users[0])
        if first is None or last is None:
            continue
        steps = [link.made for link in (*head, *tail)] + [s for link in (*head, *tail) for s in link.crossed]
        found = (
            *wrong_dtype(steps, _dtype(run, head, tail), ("float32",)),
            *along(graph, head),
            *not_constant(graph, step.scope, _epsilon(graph, head)),
            *along(graph, tail),
        )
        whole = "the rest of the" if step.op == _SIMPLIFIED else "the"
        pattern = f"{whole} layer normalisation from {first.label} to {last.label}"
        blockers = tuple(_with_advice(b, run.opset) for b in found)
        yield Blocked(first, pattern, blockers, len(set(steps)) + 1)


def _with_advice(blocker: Blocker, opset: int) -> Blocker:
    if blocker.kind != "shape operator in between" or opset >= _OPERATOR:
        return blocker
    return replace(blocker, mend=f"export with opset {_OPERATOR} or newer, which has the operator")


def _head(graph: Graph, step: Step) -> list[Link] | None:
    """From the mean to the step that divides."""
    # ORT itself moves a Transpose from in front of the pattern to behind the Sub.
    centring = before(graph, step, 0, ("Sub",), ("Transpose",))
    sub = centring.made if centring else None
    mean = made(graph, sub, 1, "ReduceMean")
    if centring is None or sub is None or mean is None or mean.inputs[0] != sub.inputs[0]:
        return None
    if step.op == _SIMPLIFIED:
        return [Link(mean, (sub,)), centring]
    root = made(graph, step, 1, "Sqrt")
    added = made(graph, root, 0, "Add")
    variance = either(graph, added, "ReduceMean")
    power = made(graph, variance, 0, "Pow")
    again = made(graph, power, 0, "Sub")
    if root is None or added is None or variance is None or power is None or again is None:
        return None
    if again.inputs != sub.inputs:
        return None
    subs = tuple(dict.fromkeys((again, sub)))
    chain = (power, variance, added, root, step)
    inner = [Link(a, (b,)) for a, b in pairwise(chain)]
    return [Link(mean, subs), *(Link(s, (power, step)) for s in subs), *inner]


def _tail(graph: Graph, step: Step) -> list[Link] | None:
    """From the step that divides to the bias."""
    links = []
    for op in ("Mul", "Add") if step.op == "Div" else ("Add",):
        link = after(graph, step, op)
        if link is None:
            return None
        links.append(link)
        step = link.users[0]
    return links


def _epsilon(graph: Graph, head: list[Link]) -> list[str]:
    """What is added to the variance; none where ORT has taken that part."""
    variance = next((ln for ln in head if ln.made.op == "ReduceMean" and ln.users[0].op == "Add"), None)
    return [other(variance.users[0], variance.made.output)] if variance else []


def _weights(tail: list[Link]) -> list[tuple[Step, str]]:
    """Scale and bias, each with the step that reads it."""
    found = [(tail[0].made, tail[0].made.inputs[1])] if tail[0].made.op == _SIMPLIFIED else []
    for link in tail:
        via = link.crossed[-1] if link.crossed else link.made
        found.append((link.users[0], other(link.users[0], via.output)))
    return found


def _fits(run: Running, head: list[Link], tail: list[Link]) -> bool:
    """Whether it is over the last axis alone, with scale and bias of one axis and equal size."""
    means = (link.made for link in head if link.made.op == "ReduceMean")
    sizes = [_size(run, step, value) for step, value in _weights(tail)]
    return all(_over_last_axis(run, m) for m in means) and sizes[0] is not None and sizes[0] == sizes[1]


def _size(run: Running, step: Step, value: str) -> int | None:
    tensor = run.executed.walk.constant(step.scope, value)
    shape = tuple(tensor.dims) if tensor is not None else run.shape(step.scope, value)
    return shape[0] if shape is not None and len(shape) == 1 and isinstance(shape[0], int) else None


def _over_last_axis(run: Running, mean: Step) -> bool:
    node = run.node(mean)  # of the file: a moved Transpose changes the axis
    if node is None:
        return False
    axes = node.attribute("axes")
    if axes is None and len(node.inputs) > 1:
        axes = integers(run.file.constant(node.scope, node.inputs[1]))
    if axes is None or len(axes) != 1:
        return False
    shape = run.shape(node.scope, node.inputs[0])
    return axes[0] == -1 or (shape is not None and axes[0] == len(shape) - 1)


def _dtype(run: Running, head: list[Link], tail: list[Link]) -> str:
    tensors = (run.executed.walk.constant(s.scope, v) for s, v in _weights(tail))
    return next((dtype_name(t.data_type) for t in tensors if t is not None), "")
