"""What ORT knows of the shapes in a file when it looks for what to fuse.

What the file declares of its values counts here, wrong or not, since ORT believes it; and no rule knows more
than ONNX's own inference: what is known here, ORT knows as well. Whether declared shapes are true is another
question, for which `hotlap.inspect.shapes` follows them from the inputs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hotlap.inspect.asking import Asked, Given, literal
from hotlap.inspect.dims import Clash, Dims
from hotlap.inspect.shaping import SHAPE
from hotlap.model.walk import Node, Scope, Walk

__all__ = ["Shapes"]


class Shapes:
    """Shapes of the values of a model's graphs. Functions and unsorted graphs stay unknown.

    Args:
        walk: the file's graph.
    """

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        self._known: dict[int, dict[str, Dims]] = {}
        for scope in walk.scopes:
            self._fill(scope)

    def of(self, scope: Scope, value: str) -> Dims | None:
        """The shape of a value as seen from a scope of the file: sizes, the file's own symbols, and None for
        what is unknown; None for an unknown rank."""
        home = self.walk.home(scope, value)
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

    def _made(self, node: Node) -> Dims | None:
        rule = _RULES.get(node.op)
        try:
            return rule(self, node) if rule else None
        except (IndexError, TypeError, ValueError, OverflowError):
            return None  # a node that is not as its operator is defined: ORT will say so

    # ── what the rules ask ────────────────────────────────────────────────────────────────────────────

    def input(self, node: Node, number: int) -> Dims | None:
        value = _value(node, number)
        return self.of(node.scope, value) if value else None

    def ints(self, node: Node, number: int) -> tuple[Asked, ...] | None:
        """Of constants alone: how far ORT follows numbers through operators changes with its version."""
        value = _value(node, number)
        return literal(self.walk, node.scope, value) if value else None

    def pin(self, node: Node, clashes: Sequence[Clash], source: str = "") -> None:
        """What is declared wrongly is not told here."""


def _value(node: Node, number: int) -> str:
    return node.inputs[number] if number < len(node.inputs) else ""


def _declared(kind: Any) -> Dims | None:
    if not kind.HasField("tensor_type") or not kind.tensor_type.HasField("shape"):
        return None
    return tuple(
        d.dim_value if d.HasField("dim_value") else (d.dim_param or None) for d in kind.tensor_type.shape.dim
    )


def _matrix(_: Given, node: Node) -> Dims | None:
    return None, None


def _reshape(given: Given, node: Node) -> Dims | None:
    """What is left for -1 is unknown: ORT cancels no symbols."""
    shape, target = given.input(node, 0), given.ints(node, 1)
    if shape is None or target is None or node.attribute("allowzero", 0):
        return None
    sizes = [a.size for a in target if isinstance(a.size, int)]
    return tuple(
        (shape[axis] if axis < len(shape) else None) if size == 0 else (None if size < 0 else size)
        for axis, size in enumerate(sizes)
    )


_FOLLOWED = (
    "Abs Add BatchNormalization Cast Clip Constant ConstantOfShape Div Dropout Elu Erf Exp Gather Gelu Gemm "
    "HardSigmoid HardSwish Identity LayerNormalization LeakyRelu Log LogSoftmax MatMul Max Min Mul Neg PRelu "
    "Pow Reciprocal ReduceMax ReduceMean ReduceSum Relu Selu Sigmoid Softmax Softplus Sqrt Squeeze Sub Sum "
    "Tanh Transpose Unsqueeze Where"
)
"""The operators that stand in or around what is fused."""
_RULES: dict[str, Callable[[Given, Node], Dims | None]] = {
    **{op: SHAPE[op] for op in _FOLLOWED.split()},
    "Flatten": _matrix,
    "Reshape": _reshape,
}
