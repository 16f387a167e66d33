"""Store a large weight that holds one value everywhere as that one value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from hotlap.inspect.rules.giant_constant import UNIFORM
from hotlap.model.graph import onnx
from hotlap.passes import face
from hotlap.passes.draft import Draft
from hotlap.passes.graphs import all_graphs, fresh, keep, names
from hotlap.passes.numbers import read_tensor
from hotlap.passes.step import Aim, Passed, unchanged

__all__ = ["Shrink"]

_FIRST = 9
"""The opset that brought ConstantOfShape."""
_TYPES = frozenset({1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13})
"""``TensorProto.DataType`` that ConstantOfShape makes since then: floats, whole numbers, booleans."""


@dataclass(frozen=True)
class Shrink:
    """Stores a large weight that holds one value everywhere as that one value.

    The runtime spreads it out again while it loads the file: the file is smaller, the memory the same.

    Args:
        least: bytes; smaller weights stay as they are.
    """

    least: int = UNIFORM
    name: ClassVar[str] = "shrink"
    aim: ClassVar[Aim] = "mend"

    def requires(self, draft: Draft) -> str:
        return f"it needs opset {_FIRST} or newer" if draft.opset < _FIRST else ""

    def __call__(self, draft: Draft) -> Passed:
        """Raises ModelError: a weight cannot be read."""
        proto, notes = draft.copy(), list[str]()
        taken = names(proto)
        for graph in list(all_graphs(proto.graph)):
            for output, tensor, put in self._large(draft, graph):
                sizes = fresh(f"{output}_sizes", taken)
                dims = np.array(tensor.dims, np.int64)
                notes.append(f'"{output}"{list(tensor.dims)} is stored as the one value that it holds')
                put(_spread(draft, tensor, output, sizes))
                proto.graph.initializer.append(onnx().numpy_helper.from_array(dims, sizes))
        if not notes:
            return unchanged(draft, "no large weight holds one value everywhere")
        return Passed(draft.edited(proto), tuple(notes))

    def ensures(self, before: Draft, after: Draft) -> str:
        return face.differences(before, after)

    def _large(self, draft: Draft, graph: Any) -> Iterator[tuple[str, Any, Callable[[Any], None]]]:
        """Name and tensor of each, and what puts a node in its place."""
        for node in graph.node:
            if (value := _value(node)) is not None and self._fits(draft, value):
                yield node.output[0], value, node.CopyFrom
        fixed = {v.name for v in graph.input}
        large = [t for t in graph.initializer if t.name not in fixed and self._fits(draft, t)]
        for tensor in large:
            yield tensor.name, tensor, partial(graph.node.insert, 0)
        gone = {t.name for t in large}
        keep(graph.initializer, lambda t: t.name not in gone)

    def _fits(self, draft: Draft, tensor: Any) -> bool:
        if tensor.data_type not in _TYPES:
            return False
        width = np.dtype(onnx().helper.tensor_dtype_to_np_dtype(tensor.data_type)).itemsize
        count = int(np.prod(tensor.dims, dtype=np.int64))
        return count > 1 and count * width >= self.least and _uniform(draft, tensor)


def _uniform(draft: Draft, tensor: Any) -> bool:
    first = None
    for piece in read_tensor(draft, tensor):
        first = piece[0] if first is None else first
        if not (piece == first).all():  # NaN equals nothing, and stays
            return False
        # 0 and -0 are equal, and two numbers.
        if piece.dtype.kind == "f" and first == 0 and np.signbit(piece).any() != np.signbit(piece).all():
            return False
    return first is not None


def _value(node: Any) -> Any:
    """The tensor of a Constant node."""
    if node.op_type != "Constant" or node.domain not in ("", "ai.onnx"):
        return None
    return next((a.t for a in node.attribute if a.name == "value" and a.HasField("t")), None)


def _spread(draft: Draft, tensor: Any, output: str, sizes: str) -> Any:
    """The node that makes the tensor anew."""
    value = onnx().numpy_helper.from_array(next(read_tensor(draft, tensor))[:1])
    return onnx().helper.make_node("ConstantOfShape", [sizes], [output], value=value)
