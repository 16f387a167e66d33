"""Products of 8-bit integers: which node multiplies what by what, and along which axis it sums."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from hotlap.model.elements import Elements, elements
from hotlap.model.walk import Node, Walk

__all__ = ["Product", "products"]

Kind = Literal["matmul", "transposed", "conv"]


@dataclass(frozen=True, slots=True)
class Product:
    """One multiplication of 8-bit integers.

    Attributes:
        node: it.
        activations, weights: element types, "uint8" or "int8".
        value: the weights' name as the node's scope knows it.
        kind: how the weights lie: "matmul" [..., K, N], "transposed" [N, K], "conv" [M, C/group, …].
        wrapped: a float operator between DequantizeLinear nodes, which ORT turns into integers.
    """

    node: Node
    activations: str
    weights: str
    value: str
    kind: Kind
    wrapped: bool = False


_OPERANDS: dict[str, tuple[int, tuple[int, ...], Kind]] = {
    "MatMulInteger": (0, (1,), "matmul"),
    "ConvInteger": (0, (1,), "conv"),
    "QLinearMatMul": (0, (3,), "matmul"),
    "QLinearConv": (0, (3,), "conv"),
    "com.microsoft.QLinearConv": (0, (3,), "conv"),
    "com.microsoft.QGemm": (0, (3,), "matmul"),
    "com.microsoft.MatMulIntegerToFloat": (0, (1,), "matmul"),
    "com.microsoft.DynamicQuantizeMatMul": (0, (1,), "matmul"),
    "com.microsoft.DynamicQuantizeLSTM": (0, (1, 2), "matmul"),
    "com.microsoft.QAttention": (0, (1,), "matmul"),
}
"""Operator to the numbers of its inputs: activations, weights. Source: ONNX's Operators.md, ORT's
ContribOperators.md."""
_DYNAMIC = ("com.microsoft.DynamicQuantizeMatMul", "com.microsoft.DynamicQuantizeLSTM")
"""They read floats, and quantise them to uint8 themselves."""
_WRAPPED: dict[str, Kind] = {"MatMul": "matmul", "Gemm": "matmul", "Conv": "conv"}
_EIGHT = ("uint8", "int8")


def products(walk: Walk) -> Iterator[Product]:
    """Every product of 8-bit integers, those between DequantizeLinear nodes included."""
    types = elements(walk)
    for node in walk.nodes(*_OPERANDS):
        at, weights, kind = _OPERANDS[node.op]
        read = types.read(node)
        for number in weights:
            if number < len(read):
                activations = "uint8" if node.op in _DYNAMIC else read[at]
                yield from _product(node, activations, read[number], node.inputs[number], kind)
    for node in walk.nodes(*_WRAPPED):
        yield from _wrapped(walk, types, node)


def _product(
    node: Node, activations: str, weights: str, value: str, kind: Kind, wrapped: bool = False
) -> Iterator[Product]:
    if activations in _EIGHT and weights in _EIGHT:
        lies: Kind = "transposed" if kind == "matmul" and node.attribute("transB", 0) else kind
        yield Product(node, activations, weights, value, lies, wrapped)


def _wrapped(walk: Walk, types: Elements, node: Node) -> Iterator[Product]:
    makers = [walk.maker(node.scope, v) for v in node.inputs[:2]]
    if len(makers) < 2 or any(m is None or m.op != "DequantizeLinear" or not m.inputs for m in makers):
        return
    first, second = (m for m in makers if m is not None)
    kinds = [types.of(m.scope, m.inputs[0]) for m in (first, second)]
    yield from _product(node, kinds[0], kinds[1], second.inputs[0], _WRAPPED[node.op], wrapped=True)
