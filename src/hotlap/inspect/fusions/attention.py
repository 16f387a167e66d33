"""Attention as BERT has it: ORT makes one ``com.microsoft.Attention`` of it at load.

What ORT looks for is narrow: one form of the graph, of opsets 9 to 12, in which sums name the bias second and
the softmax names its axis 3. The pattern is sought in the file's graph, since ORT changes parts of it even
where it does not fuse the whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hotlap.inspect.fusions.blockers import Blocked, Blocker, along, not_constant, wrong_dtype
from hotlap.inspect.fusions.graph import Graph, Step
from hotlap.inspect.fusions.pattern import Link, after, before, either, made, other
from hotlap.inspect.fusions.running import Running
from hotlap.model.constants import integers
from hotlap.model.elements import dtype_name
from hotlap.model.walk import Scope

__all__ = ["attention"]

_LOWEST, _HIGHEST = 9, 12
_EXTRA = ("Reshape", "Squeeze", "Unsqueeze")
_NORMS = ("LayerNormalization", "com.microsoft.SkipLayerNormalization")


@dataclass(frozen=True, slots=True)
class _Dense:
    """A product with a matrix of weights, and its bias."""

    matmul: Step
    add: Step

    @property
    def weights(self) -> tuple[str, str]:
        return self.matmul.inputs[1], other(self.add, self.matmul.output)


@dataclass(frozen=True, slots=True)
class _Head:
    """What makes the query, the key or the value."""

    dense: _Dense
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    """One attention: its three heads, its core from the scores on, and what follows."""

    heads: tuple[_Head, ...]
    core: tuple[Link, ...]
    scaled: Step
    masked: Step
    softmax: Step
    out: _Dense
    residual: Step

    @property
    def root(self) -> str:
        return self.heads[0].dense.matmul.inputs[0]

    @property
    def links(self) -> list[Link]:
        return [*(link for head in self.heads for link in head.links), *self.core]

    @property
    def dense(self) -> list[_Dense]:
        return [*(head.dense for head in self.heads), self.out]


def attention(run: Running) -> Iterator[Blocked]:
    """Attentions whose softmax is still executed on its own."""
    if next(run.file.nodes("Softmax"), None) is None:
        return
    for softmax in run.source.nodes("Softmax"):
        found = _match(run.source, softmax) if run.still_runs(softmax) else None
        if found is None or not _sizes_fit(run, found):
            continue
        if run.made_by(softmax.scope, found.root) not in _NORMS:
            continue
        steps = {s for link in found.links for s in (link.made, *link.crossed, *link.users)}
        pattern = f"the attention around {softmax.node.label}"
        yield Blocked(softmax.node, pattern, tuple(_blockers(run, found)), len(steps))


def _match(graph: Graph, softmax: Step) -> _Found | None:
    masking = before(graph, softmax, 0, ("Add",), ())
    scaling = None if masking is None else before(graph, masking.made, 0, ("Div",), ())
    if masking is not None and scaling is None:
        scaling = before(graph, masking.made, 1, ("Div",), ())
    scoring = None if scaling is None else before(graph, scaling.made, 0, ("MatMul",), ())
    mixing = after(graph, softmax, "MatMul", _EXTRA)
    if masking is None or scaling is None or scoring is None or mixing is None:
        return None
    product = mixing.users[0]
    turning = after(graph, product, "Transpose", ())
    joining = after(graph, turning.users[0], "Reshape", ()) if turning else None
    out = _dense_after(graph, joining.users[0]) if joining else None
    adding = after(graph, out.add, "Add", ()) if out else None
    heads = tuple(
        h
        for user, place in ((scoring.made, 0), (scoring.made, 1), (product, 1))
        if (h := _head(graph, user, place))
    )
    if turning is None or joining is None or out is None or adding is None or len(heads) != 3:
        return None
    core = (scoring, scaling, masking, mixing, turning, joining)
    found = _Found(heads, core, scaling.made, masking.made, softmax, out, adding.users[0])
    roots = {head.dense.matmul.inputs[0] for head in heads}
    fits = len(roots) == 1 and found.root in found.residual.inputs and _mask(graph, found)
    return found if fits else None


def _head(graph: Graph, user: Step, place: int) -> _Head | None:
    turned = made(graph, user, place, "Transpose")
    split = made(graph, turned, 0, "Reshape")
    summed = before(graph, split, 0, ("Add",), _EXTRA) if split else None
    matmul = either(graph, summed.made, "MatMul") if summed else None
    if turned is None or split is None or summed is None or matmul is None:
        return None
    links = (Link(matmul, (summed.made,)), summed, Link(split, (turned,)), Link(turned, (user,)))
    return _Head(_Dense(matmul, summed.made), links)


def _dense_after(graph: Graph, step: Step) -> _Dense | None:
    matmul = after(graph, step, "MatMul", ())
    add = after(graph, matmul.users[0], "Add", ()) if matmul else None
    return _Dense(matmul.users[0], add.users[0]) if matmul and add else None


def _mask(graph: Graph, found: _Found) -> bool:
    """(1 - mask) * a large negative number, the mask with two new axes."""
    last = _last_axis(graph, found)
    return last is not None and (made(graph, last, 0, "Unsqueeze") is not None or _both_axes(graph, last))


def _last_axis(graph: Graph, found: _Found) -> Step | None:
    """What gives the mask its last new axis."""
    mul = graph.maker(found.masked.scope, other(found.masked, found.scaled.output))
    sub = made(graph, mul, 0, "Sub") if mul is not None and mul.op == "Mul" else None
    cast = made(graph, sub, 1, "Cast")
    return made(graph, cast or sub, 0 if cast else 1, "Unsqueeze")


def _both_axes(graph: Graph, unsqueeze: Step) -> bool:
    """Whether it makes two axes at once, as PyTorch's newer exporter has it."""
    axes = unsqueeze.node.attribute("axes")
    if axes is None and len(unsqueeze.inputs) > 1:
        axes = integers(graph.walk.constant(unsqueeze.scope, unsqueeze.inputs[1]))
    return axes is not None and len(axes) == 2


def _sizes_fit(run: Running, found: _Found) -> bool:
    """Whether all four matrices are square and as wide as their biases."""
    widths: set[object] = set()
    for dense in found.dense:
        for step, value in zip((dense.matmul, dense.add), dense.weights, strict=True):
            widths.update(run.shape(step.scope, value) or (None,))
    return len(widths) == 1 and None not in widths


def _blockers(run: Running, found: _Found) -> Iterator[Blocker]:
    graph = run.source
    if run.opset < _LOWEST:
        yield Blocker(
            "opset too low", f"the file is of opset {run.opset}, ORT looks for {_LOWEST} to {_HIGHEST}"
        )
    if run.opset > _HIGHEST:
        yield Blocker(
            "opset too high", f"the file is of opset {run.opset}, ORT looks for {_LOWEST} to {_HIGHEST}"
        )
    yield from wrong_dtype((), _dtype(run, found), ("float32",))
    yield from _root_readers(graph, found)
    known: _Known = {}
    for dense in found.dense:
        loose = [v for v in dense.weights if not _fixed(graph, dense.matmul.scope, v, known)]
        yield from not_constant(graph, dense.matmul.scope, loose)
    # A Shape that only tells a Reshape its sizes goes away before.
    yield from along(graph, found.links, besides=("Shape",))
    for why in _oddities(graph, found):
        yield Blocker("written in another way", why)


def _root_readers(graph: Graph, found: _Found) -> Iterator[Blocker]:
    root = graph.maker(found.softmax.scope, found.root)
    if root is None:
        return
    ours = (*(head.dense.matmul for head in found.heads), found.residual)
    for blocker in along(graph, [Link(root, ours)], besides=("Shape",)):
        if blocker.kind == "second reader":
            yield blocker


_Known = dict[tuple[int, str, int], bool]


def _fixed(graph: Graph, scope: Scope, value: str, known: _Known, depth: int = 20) -> bool:
    """Whether ORT has the value when it loads the model: a weight, even one that a caller may replace.

    Args:
        known: what was found before.
    """
    if depth == 0:
        return True
    home = graph.walk.home(scope, value)
    if home is None or value in home.weights or graph.walk.is_constant(home, value):
        return home is not None
    key = id(home), value, depth
    if key not in known:
        maker = graph.maker(home, value)
        known[key] = (
            maker is not None
            and bool(maker.inputs)
            and all(_fixed(graph, maker.scope, v, known, depth - 1) for v in maker.inputs if v)
        )
    return known[key]


def _dtype(run: Running, found: _Found) -> str:
    dense = found.out
    home = run.source.walk.home(dense.matmul.scope, dense.weights[0])
    tensor = home.weights.get(dense.weights[0]) if home else None
    return "" if tensor is None else dtype_name(tensor.data_type)


def _oddities(graph: Graph, found: _Found) -> Iterator[str]:
    swapped = [d.add for d in found.dense if d.add.inputs[0] != d.matmul.output]
    for step, first in ((found.masked, found.scaled.output), (found.residual, found.out.add.output)):
        if step.inputs[0] != first:
            swapped.append(step)
    if len(swapped) == 1:
        yield f"{swapped[0].label} names its operands the other way round"
    elif swapped:
        yield f"{swapped[0].label} and {len(swapped) - 1} more sums name their operands the other way round"
    if (axis := found.softmax.node.attribute("axis", -1)) != 3:
        yield f"the softmax names its axis {axis} where ORT looks for 3"
    last = _last_axis(graph, found)
    if last is not None and _both_axes(graph, last):
        yield f"{last.label} gives the mask both its axes, where ORT looks for two of them"
