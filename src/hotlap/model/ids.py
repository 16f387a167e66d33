"""Which integer inputs are looked up in a table, and how many rows that table has.

An id outside of the table fails deep inside of the model, or, with some providers, reads other memory. So a
made feed keeps to the limits that the graph shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hotlap.model.graph import nodes

__all__ = ["id_limits"]

_SAME_VALUES = frozenset(
    {"Cast", "Identity", "Reshape", "Unsqueeze", "Squeeze", "Flatten", "Transpose", "Expand", "Tile", "Slice"}
)
"""Operators whose output holds the first input's values, only arranged otherwise."""
_SAME_ROWS = frozenset({"Cast", "Identity", "DequantizeLinear", "QuantizeLinear"})
_ARITHMETIC = frozenset({"Mul", "Add", "Sub", "Div"})
_ONNX = frozenset({"", "ai.onnx"})
_MOST_INPUTS = 5  # DequantizeLinear has three; a node of thousands is no table
_EMBED_LAYER_NORM = ((0, 2), (1, 4))
"""Inputs of com.microsoft.EmbedLayerNormalization: (ids, table) for words and for segments."""


def id_limits(model: Any, inputs: frozenset[str]) -> dict[str, int]:
    """Input to the rows of the smallest table that it is looked up in.

    Args:
        model: the ``onnx.ModelProto``.
        inputs: names of the integer inputs.
    """
    graph = _Graph(model)
    origin = graph.spread(inputs)
    limits: dict[str, int] = {}
    for ids, table, axis in graph.lookups():
        rows = graph.size(table, axis)
        name = origin.get(ids)
        if name is not None and rows:
            limits[name] = min(rows, limits.get(name, rows))
    return limits


class _Graph:
    def __init__(self, model: Any) -> None:
        self._nodes = list(nodes(model))
        self._shapes = {t.name: tuple(t.dims) for t in model.graph.initializer}
        for node in self._nodes:
            if node.op_type == "Constant" and node.domain in _ONNX and node.output:
                values = [a.t for a in node.attribute if a.name == "value"]
                self._shapes.update((node.output[0], tuple(v.dims)) for v in values)
        self._known: dict[tuple[str, int], tuple[int, ...]] = {}
        self._makers = {output: node for node in self._nodes for output in node.output}

    def spread(self, inputs: frozenset[str]) -> dict[str, str]:
        """Value to the input whose numbers it holds. Nodes are in topological order, so once is enough."""
        origin = {name: name for name in inputs}
        for node in self._nodes:
            if node.op_type in _SAME_VALUES and node.output and node.input and node.input[0] in origin:
                origin[node.output[0]] = origin[node.input[0]]
        return origin

    def lookups(self) -> Iterator[tuple[str, str, int]]:
        """(ids, table, axis) of each table look-up."""
        for node in self._nodes:
            # Others may call an operator of theirs, or a function, by a known name.
            if node.op_type == "Gather" and node.domain in _ONNX and len(node.input) == 2:
                axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
                yield node.input[1], node.input[0], axis
            elif node.op_type == "EmbedLayerNormalization" and node.domain == "com.microsoft":
                pairs = [(i, t) for i, t in _EMBED_LAYER_NORM if t < len(node.input)]
                yield from ((node.input[i], node.input[t], 0) for i, t in pairs)

    def size(self, table: str, axis: int) -> int:
        """How many entries the table has along the axis; 0 where the graph does not show it."""
        shape = self._shape(table, 8)
        return shape[axis] if -len(shape) <= axis < len(shape) else 0

    def _shape(self, value: str, deep: int) -> tuple[int, ...]:
        """The shape of a weight, or of what is made of one without changing its rows."""
        if value in self._shapes:
            return self._shapes[value]
        if (value, deep) not in self._known:  # values that meet again and again are followed once
            self._known[value, deep] = self._made(value, deep)
        return self._known[value, deep]

    def _made(self, value: str, deep: int) -> tuple[int, ...]:
        maker = self._makers.get(value)
        if maker is None or deep == 0 or not 1 <= len(maker.input) <= _MOST_INPUTS:
            return ()
        if maker.op_type in _SAME_ROWS:
            return self._shape(maker.input[0], deep - 1)
        if maker.op_type in _ARITHMETIC:
            # A table times its scale: the larger of the two is the table.
            return max((self._shape(i, deep - 1) for i in maker.input), key=lambda s: (len(s), s))
        return ()
