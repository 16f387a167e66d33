"""Writing a graph in half precision: which nodes can, and the casts where both precisions meet.

The same rewriting makes an emulation: float32 throughout, with every value that would be float16 rounded to
it. Processors without float16 arithmetic compute float16 graphs in float32 without a word, and so hide what
a device would do; the emulation shows it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hotlap.model.graph import onnx
from hotlap.model.stored import as_tensor
from hotlap.model.walk import ONNX
from hotlap.passes.graphs import fresh, inner_graphs, names, reads, replace_all

__all__ = ["Halving", "convertible"]

FLOAT, HALF = 1, 10  # TensorProto.DataType
KEPT = frozenset(
    {
        "Bernoulli", "CumSum", "DequantizeLinear", "DynamicQuantizeLinear", "EyeLike", "If", "Loop",
        "Max", "Min", "Multinomial", "NonMaxSuppression", "Optional", "QuantizeLinear",
        "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Range",
        "RoiAlign", "Scan", "SequenceEmpty", "TopK", "Upsample",
    }
)  # fmt: skip
"""Operators that stay in float32: those that ONNX Runtime's own converter keeps (``onnxruntime.transformers.
float16``), the sources of random numbers, and those that hold graphs."""


_MADE = frozenset({"Cast", "Constant", "ConstantOfShape"})
"""Operators that make floats out of none, and that `_convert_attributes` tells to make halves. Others, such
as HannWindow, say the type in ways of their own."""


def convertible(node: Any, types: dict[str, int], opset: int) -> bool:
    """Whether a node can take and give float16 in place of float32.

    Args:
        node: the ``NodeProto``.
        types: value to its ``TensorProto.DataType``, where it is known.
        opset: of ONNX's own operators.
    """
    if node.domain not in ONNX or node.op_type in KEPT or any(True for _ in inner_graphs(node)):
        return False
    if any(value and value not in types for value in (*node.input, *node.output)):
        return False
    if not any(types[v] == FLOAT for v in (*node.input, *node.output) if v):
        return False
    try:
        schema = onnx().defs.get_schema(node.op_type, opset, "")
    except Exception:  # noqa: BLE001  onnx raises an error of its own C++ half
        return False
    floats = [
        [place for place, value in enumerate(side) if value and types[value] == FLOAT]
        for side in (node.input, node.output)
    ]
    takes = [half_allowed(schema, schema.inputs, place) for place in floats[0]]
    gives = [half_allowed(schema, schema.outputs, place) for place in floats[1]]
    if not takes and (node.op_type not in _MADE or any(a.HasField("sparse_tensor") for a in node.attribute)):
        return False
    return all(gives) and (any(takes) or not takes)


def half_allowed(schema: Any, sides: Any, place: int) -> bool:
    """Whether the schema takes float16 at an input, or gives it at an output."""
    if not sides:
        return False
    side = sides[min(place, len(sides) - 1)]
    return "tensor(float16)" in side.types


@dataclass
class Halving:
    """The rewriting of one model's own graph; `rewrite` does it, in place.

    Attributes:
        proto: the model.
        types: value to its type.
        chosen: places of the nodes that are to be float16.
        emulate: round to float16 and stay float32, instead of being float16.
    """

    proto: Any
    types: dict[str, int]
    chosen: Collection[int]
    emulate: bool = False
    _taken: set[str] = field(default_factory=set)
    _labels: set[str] = field(default_factory=set)
    _half: dict[str, str] = field(default_factory=dict)
    _nodes: list[Any] = field(default_factory=list)
    _weights: list[Any] = field(default_factory=list)
    _weight: dict[str, Any] = field(default_factory=dict)
    _schemas: dict[str, Any] = field(default_factory=dict)

    def rewrite(self) -> None:
        graph = self.proto.graph
        self._taken = names(self.proto)
        self._labels = {node.name for node in graph.node}
        weights = {t.name: t for t in graph.initializer}
        inputs = {v.name for v in graph.input}
        self._weight = {n: t for n, t in weights.items() if n not in inputs and t.data_type == FLOAT}
        for place, node in enumerate(graph.node):
            if place in self.chosen:
                self._convert(node)
            else:
                self._nodes.append(node)
        replace_all(graph.node, self._nodes)
        graph.initializer.extend(self._weights)
        self._drop_unread()
        del graph.value_info[:]

    def _convert(self, node: Any) -> None:
        schema = self._schema(node)
        new = type(node)()
        new.CopyFrom(node)
        for place, value in enumerate(node.input):
            if value and self.types[value] == FLOAT and half_allowed(schema, schema.inputs, place):
                new.input[place] = self._as_half(value)
        outputs = [v for v in node.output if v and self.types[v] == FLOAT]
        if not self.emulate:
            _convert_attributes(new)
        made = {}
        for place, value in enumerate(node.output):
            if value in outputs:
                made[value] = new.output[place] = fresh(f"{value}_half", self._taken)
        self._nodes.append(new)
        for value, half in made.items():
            if self.emulate:
                self._half[value] = self._rounded(half, value)
            else:
                self._half[value] = half
                self._cast(half, value, FLOAT)  # swept away where nobody reads it

    def _schema(self, node: Any) -> Any:
        if node.op_type not in self._schemas:
            opset = max(o.version for o in self.proto.opset_import if o.domain in ONNX)
            self._schemas[node.op_type] = onnx().defs.get_schema(node.op_type, opset, "")
        return self._schemas[node.op_type]

    def _as_half(self, value: str) -> str:
        """The name under which a value can be read in float16; cast once for all who read it."""
        if value not in self._half:
            if value in self._weight:
                self._half[value] = self._half_weight(value)
            elif self.emulate:
                self._half[value] = self._rounded(value, fresh(f"{value}_rounded", self._taken))
            else:
                half = self._half[value] = fresh(f"{value}_half", self._taken)
                self._cast(value, half, HALF)
        return self._half[value]

    def _rounded(self, value: str, out: str) -> str:
        between = fresh(f"{value}_cast", self._taken)
        self._cast(value, between, HALF)
        self._cast(between, out, FLOAT)
        return out

    def _cast(self, value: str, out: str, to: int) -> None:
        name = fresh(f"{out}_cast", self._labels)  # two nodes of one name are refused by the runtime
        self._nodes.append(onnx().helper.make_node("Cast", [value], [out], name=name, to=to))

    def _half_weight(self, name: str) -> str:
        helper = onnx().numpy_helper
        with np.errstate(over="ignore"):
            array = helper.to_array(self._weight[name]).astype(np.float16)
        half = fresh(f"{name}_half", self._taken)
        kept = array.astype(np.float32) if self.emulate else array
        self._weights.append(helper.from_array(kept, half))
        return half

    def _drop_unread(self) -> None:
        """Casts back to float32 and weights in float32 that nobody reads."""
        graph = self.proto.graph
        read = {v.name for v in graph.output}
        for node in graph.node:
            read |= reads(node)
        for place in range(len(graph.node) - 1, -1, -1):
            node = graph.node[place]
            if node.op_type == "Cast" and node.output[0] not in read:
                del graph.node[place]
        inputs = {v.name for v in graph.input}
        for place in range(len(graph.initializer) - 1, -1, -1):
            name = graph.initializer[place].name
            if name in self._weight and name not in read and name not in inputs:
                del graph.initializer[place]


def _convert_attributes(node: Any) -> None:
    """Types and constants inside of a node."""
    for attribute in node.attribute:
        if node.op_type == "Constant" and (number := as_tensor(attribute)) is not None:
            attribute.CopyFrom(onnx().helper.make_attribute("value", number))  # others are float32 alone
        if attribute.name == "to" and node.op_type == "Cast" and attribute.i == FLOAT:
            attribute.i = HALF
        if attribute.HasField("t") and attribute.t.data_type == FLOAT:
            with np.errstate(over="ignore"):
                array = onnx().numpy_helper.to_array(attribute.t).astype(np.float16)
            attribute.t.CopyFrom(onnx().numpy_helper.from_array(array, attribute.t.name))
    if node.op_type == "ConstantOfShape" and not node.attribute:
        zero = onnx().numpy_helper.from_array(np.zeros(1, np.float16))
        node.attribute.append(onnx().helper.make_attribute("value", zero))
