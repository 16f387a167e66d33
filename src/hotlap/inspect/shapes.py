"""Shapes with symbols, followed from the inputs through the graph: `Shapes`.

What an exporter wrote down about values inside is not looked at: it is what may be wrong. An operator that is
not known here makes values of unknown shape, so whatever is said holds. What ONNX Runtime knows when it fuses
is another question, for which `hotlap.inspect.fusions.shapes` does believe what was written down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from hotlap.inspect.asking import ASKED, Asked, literal
from hotlap.inspect.dims import Clash, Dims, Size
from hotlap.inspect.shaping import ALL_ALIKE, SHAPE
from hotlap.model.walk import Node, Scope, Walk

__all__ = ["Shapes", "Stuck", "shapes"]


@dataclass(frozen=True, slots=True)
class Stuck:
    """A symbol that an operator pins down.

    Attributes:
        node: the operator.
        constant: the constant to blame; "" where none.
        clash: the symbol and what it may be.
    """

    node: Node
    constant: str
    clash: Clash


class Shapes:
    """The shapes in the model's own graph.

    Attributes:
        stuck: symbols that cannot take any size, in the order of the nodes.
    """

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        self.stuck: list[Stuck] = []
        self._dims: dict[str, Dims | None] = {}
        self._asked: dict[str, tuple[Asked, ...] | None] = {}
        root = walk.root
        for name in root.inputs:
            self._dims[name] = _declared(root, name)
        for name, tensor in root.weights.items():
            if name not in root.inputs:
                self._dims[name] = tuple(int(d) for d in tensor.dims)
        for node in root.nodes:
            self._step(node)

    def dims(self, value: str) -> Dims | None:
        """Sizes, symbols and None for what is unknown; None for an unknown rank. Unnamed axes of an input
        are symbols of their own, spelt ``input[axis]``."""
        return self._dims.get(value)

    def asked(self, value: str) -> tuple[Asked, ...] | None:
        """A tensor of integers, number by number; None where not even their count is known."""
        if value not in self._asked:
            self._asked[value] = literal(self.walk, self.walk.root, value)
        return self._asked[value]

    # ── one node ──────────────────────────────────────────────────────────────────────────────────────

    def _step(self, node: Node) -> None:
        outputs = list(node.proto.output)
        if not any(outputs) or any(True for _ in node.subgraphs()):
            return
        op = node.op.removeprefix("com.microsoft.")
        how = SHAPE.get(op)
        try:
            made = how(self, node) if how else None
            number = ASKED[op](self, node) if op in ASKED else None
        except (IndexError, TypeError, ValueError, OverflowError):
            return  # a node that is not as its operator is defined: ORT will say so
        # An output is known by its place: of a GRU whose first is left out, the second is no sequence.
        if number is not None and outputs[0]:
            self._asked.setdefault(outputs[0], number)
        if how is None or outputs[0] in self._dims:
            return
        same = outputs if op in ALL_ALIKE else outputs[:1]
        self._dims.update((name, made) for name in same if name)

    def input(self, node: Node, number: int) -> Dims | None:
        names = node.proto.input
        return self._dims.get(names[number]) if number < len(names) and names[number] else None

    def ints(self, node: Node, number: int) -> tuple[Asked, ...] | None:
        names = node.proto.input
        return self.asked(names[number]) if number < len(names) and names[number] else None

    def pin(self, node: Node, clashes: Sequence[Clash], source: str = "") -> None:
        self.stuck += [Stuck(node, source, c) for c in clashes]


def _declared(root: Scope, name: str) -> Dims | None:
    kind = root.types.get(name)
    if kind is None or not kind.HasField("tensor_type") or not kind.tensor_type.HasField("shape"):
        return None
    dims: list[Size] = []
    for axis, dim in enumerate(kind.tensor_type.shape.dim):
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            dims.append(int(dim.dim_value))
        else:
            named = dim.HasField("dim_param") and dim.dim_param.strip("? ")
            dims.append(dim.dim_param if named else f"{name}[{axis}]")
    return tuple(dims)


_KNOWN: WeakKeyDictionary[Walk, Shapes] = WeakKeyDictionary()


def shapes(walk: Walk) -> Shapes:
    """The `Shapes` of a walk, worked out once."""
    if walk not in _KNOWN:
        _KNOWN[walk] = Shapes(walk)
    return _KNOWN[walk]
