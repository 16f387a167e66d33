"""What is known of the shapes in a file, from what it declares and a few plain rules.

Weaker than ONNX's own inference on purpose: what is known here, ORT knows as well. A size is an int, a name
(two equal names are equal sizes), or None; a value whose number of axes is not known has no shape at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hotlap.inspect.fusions.constants import integers
from hotlap.model.walk import Node, Scope, Walk

__all__ = ["Shape", "Shapes", "Size"]

Size = int | str | None
Shape = tuple[Size, ...]

_SAME = frozenset({
    "Abs", "BatchNormalization", "Cast", "Clip", "Dropout", "Elu", "Erf", "Exp", "Gelu", "HardSigmoid",
    "HardSwish", "Identity", "LayerNormalization", "LeakyRelu", "Log", "LogSoftmax", "Neg", "Reciprocal",
    "Relu", "Selu", "Sigmoid", "Softmax", "Softplus", "Sqrt", "Tanh",
})  # fmt: skip
"""The result has the shape of the first input."""
_BROADCAST = frozenset({"Add", "Div", "Max", "Min", "Mul", "Pow", "PRelu", "Sub", "Sum", "Where"})


class Shapes:
    """Shapes of the values of a model's graphs. Functions and unsorted graphs stay unknown.

    Args:
        walk: the file's graph.
    """

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self._known: dict[int, dict[str, Shape]] = {}
        for scope in walk.scopes:
            self._fill(scope)

    def of(self, scope: Scope, value: str) -> Shape | None:
        """The shape of a value as seen from a scope of the file."""
        home = self._walk.home(scope, value)
        return None if home is None else self._known[id(home)].get(value)

    def _fill(self, scope: Scope) -> None:
        known = self._known[id(scope)] = {}
        for name, kind in scope.types.items():
            if (declared := _declared(kind)) is not None:
                known[name] = declared
        known.update({name: tuple(t.dims) for name, t in scope.weights.items()})
        for node in scope.nodes:
            if not node.outputs or node.outputs[0] in known:
                continue
            found = self._made(node)
            if found is not None:
                known[node.outputs[0]] = found

    def _made(self, node: Node) -> Shape | None:
        if node.op == "Constant":
            tensor = node.attribute("value")
            return None if tensor is None else tuple(tensor.dims)
        given = [self.of(node.scope, v) if v else None for v in node.inputs]
        if node.op in _SAME:
            return given[0] if given else None
        if node.op in _BROADCAST:
            return _broadcast(given)
        rule = _RULES.get(node.op)
        return rule(self, node, given) if rule and given and given[0] is not None else None

    def ints(self, node: Node, place: int, attribute: str = "") -> tuple[int, ...] | None:
        """Whole numbers that are an input in newer opsets and an attribute in older ones."""
        if place < len(node.inputs) and node.inputs[place]:
            return integers(self._walk.constant(node.scope, node.inputs[place]))
        found = node.attribute(attribute) if attribute else None
        return None if found is None else tuple(found)


def _declared(kind: Any) -> Shape | None:
    if not kind.HasField("tensor_type") or not kind.tensor_type.HasField("shape"):
        return None
    return tuple(
        d.dim_value if d.HasField("dim_value") else (d.dim_param or None) for d in kind.tensor_type.shape.dim
    )


def _broadcast(shapes: Sequence[Shape | None]) -> Shape | None:
    if not shapes or any(s is None for s in shapes):
        return None
    known = [s for s in shapes if s is not None]
    rank = max(len(s) for s in known)
    padded = [(1,) * (rank - len(s)) + s for s in known]
    return tuple(_one_size([s[axis] for s in padded]) for axis in range(rank))


def _one_size(sizes: Sequence[Size]) -> Size:
    several = {s for s in sizes if s != 1}
    fixed = {s for s in several if isinstance(s, int)}
    if len(fixed) == 1:
        return fixed.pop()
    return several.pop() if len(several) == 1 else None if several else 1


def _matmul(_: Shapes, node: Node, given: list[Shape | None]) -> Shape | None:
    a, b = given[0], given[1] if len(given) > 1 else None
    if not a or b is None or len(b) < 2 or len(a) < 2:
        return None
    batch = _broadcast([a[:-2], b[:-2]])
    return None if batch is None else (*batch, a[-2], b[-1])


def _gemm(_: Shapes, node: Node, given: list[Shape | None]) -> Shape | None:
    a, b = given[0], given[1] if len(given) > 1 else None
    if not a or not b or len(a) != 2 or len(b) != 2:
        return None
    return a[1 if node.attribute("transA", 0) else 0], b[0 if node.attribute("transB", 0) else 1]


def _flatten(_: Shapes, node: Node, given: list[Shape | None]) -> Shape | None:
    return None, None


def _transpose(_: Shapes, node: Node, given: list[Shape | None]) -> Shape | None:
    shape = given[0] or ()
    order = node.attribute("perm", list(range(len(shape)))[::-1])
    return tuple(shape[axis] for axis in order) if sorted(order) == list(range(len(shape))) else None


def _reshape(shapes: Shapes, node: Node, given: list[Shape | None]) -> Shape | None:
    shape, target = given[0] or (), shapes.ints(node, 1, "shape")
    if target is None or node.attribute("allowzero", 0):
        return None
    return tuple(
        (shape[axis] if axis < len(shape) else None) if size == 0 else (None if size < 0 else size)
        for axis, size in enumerate(target)
    )


def _unsqueeze(shapes: Shapes, node: Node, given: list[Shape | None]) -> Shape | None:
    shape, axes = given[0] or (), shapes.ints(node, 1, "axes")
    if axes is None:
        return None
    rank = len(shape) + len(axes)
    new, rest = {a % rank for a in axes}, iter(shape)
    return tuple(1 if axis in new else next(rest, None) for axis in range(rank))


def _squeeze(shapes: Shapes, node: Node, given: list[Shape | None]) -> Shape | None:
    shape, axes = given[0] or (), shapes.ints(node, 1, "axes")
    if not shape or axes is None:
        return None
    gone = {a % len(shape) for a in axes}
    return tuple(size for axis, size in enumerate(shape) if axis not in gone)


def _gather(shapes: Shapes, node: Node, given: list[Shape | None]) -> Shape | None:
    shape, at = given[0] or (), given[1] if len(given) > 1 else None
    if not shape or at is None:
        return None
    axis = node.attribute("axis", 0) % len(shape)
    return (*shape[:axis], *at, *shape[axis + 1 :])


def _reduce(shapes: Shapes, node: Node, given: list[Shape | None]) -> Shape | None:
    shape, axes = given[0] or (), shapes.ints(node, 1, "axes")
    if not shape or axes is None or not node.attribute("keepdims", 1):
        return None
    gone = {a % len(shape) for a in axes}
    return tuple(1 if axis in gone else size for axis, size in enumerate(shape))


def _filled(shapes: Shapes, node: Node, given: list[Shape | None]) -> Shape | None:
    return shapes.ints(node, 0)


_RULES: dict[str, Callable[[Shapes, Node, list[Shape | None]], Shape | None]] = {
    "MatMul": _matmul, "Gemm": _gemm, "Flatten": _flatten, "Transpose": _transpose, "Reshape": _reshape,
    "Unsqueeze": _unsqueeze, "Squeeze": _squeeze, "Gather": _gather, "ReduceMean": _reduce,
    "ReduceSum": _reduce, "ReduceMax": _reduce, "ConstantOfShape": _filled,
}  # fmt: skip
