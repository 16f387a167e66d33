"""Multiply-adds of one node, told from the shapes of what it reads and writes.

Counted are the products of matrices, convolutions, recurrent layers and attention: what a model's time mostly
goes to. Additions of a bias, activations, normalisation, pooling and other work on single elements are not.
The rules follow from the operators' definitions: https://onnx.ai/onnx/operators/ and, for com.microsoft,
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from hotlap.model.graph import onnx
from hotlap.model.shaped import shape_of

__all__ = ["Uncountable", "macs"]


class Uncountable(Exception):
    """Why a node's multiply-adds cannot be told."""


Shape = tuple[int, ...]
Rule = Callable[[Any], int]


def macs(node: Any) -> int:
    """The multiply-adds of an ``onnx_ir.Node``, what is inside its graphs left out.

    Raises:
        Uncountable: a shape is unknown, or contradicts another; or nothing is known of the operator.
    """
    domain = "" if node.domain == "ai.onnx" else node.domain
    rule = _RULES.get((domain, node.op_type))
    if rule is not None:
        return rule(node)
    if domain == "" and node.op_type not in _NO_FIXED_COUNT and onnx().defs.has(node.op_type):
        return 0
    if domain == _MS and node.op_type in _NONE:
        return 0
    if domain == "ai.onnx.ml" and not node.op_type.startswith(("SVM", "Linear")):
        return 0
    raise Uncountable("no rule counts it")


def _in(node: Any, index: int) -> Shape:
    shape = shape_of(node.inputs[index]) if index < len(node.inputs) else None
    if shape is None:
        raise Uncountable(f"the shape of its input {index} is unknown")
    return shape


def _out(node: Any, index: int = 0) -> Shape:
    shape = shape_of(node.outputs[index]) if index < len(node.outputs) else None
    if shape is None:
        raise Uncountable(f"the shape of its output {index} is unknown")
    return shape


def _number(node: Any, name: str, default: int = 0) -> int:
    return int(node.attributes[name].as_int()) if name in node.attributes else default


def _same(one: int, other: int) -> int:
    if one != other:
        raise Uncountable(f"it joins axes of {one} and {other}")
    return one


def _rank(shape: Shape, *ranks: int) -> Shape:
    if len(shape) not in ranks:
        raise Uncountable(f"{len(shape)} axes where {' or '.join(map(str, ranks))} are expected")
    return shape


def _convolution(weight: int) -> Rule:
    def rule(node: Any) -> int:
        # Each output element is a sum over the weight's channels and kernel: weight is [out, in / group, k…].
        x, w = _in(node, 0), _in(node, weight)
        _same(x[1] if len(x) > 1 else 1, w[1] * _number(node, "group", 1) if len(w) > 1 else 1)
        return math.prod(_out(node)) * math.prod(w[1:])

    return rule


def _transposed_convolution(node: Any) -> int:
    # Each input element goes to all output channels of its group and all of the kernel.
    return math.prod(_in(node, 0)) * math.prod(_in(node, 1)[1:])


def _product(a: int = 0, b: int = 1) -> Rule:
    def rule(node: Any) -> int:
        left, right = _in(node, a), _in(node, b)
        if not left or not right:
            raise Uncountable("a matrix without axes")
        turned_left = _number(node, "transA") and len(left) > 1
        turned_right = _number(node, "transB") and len(right) > 1
        inner = left[-2] if turned_left else left[-1]
        _same(inner, right[-1] if turned_right or len(right) == 1 else right[-2])
        return math.prod(_out(node)) * inner

    return rule


def _packed_product(node: Any) -> int:
    """B is packed in blocks; the attribute K is the inner size (MatMulNBits, MatMulBnb4)."""
    return math.prod(_out(node)) * _same(_in(node, 0)[-1], _number(node, "K"))


def _einsum(node: Any) -> int:
    """Over all labels at once, for each operand beyond the first."""
    equation = node.attributes["equation"].as_string().replace(" ", "").split("->")[0]
    terms = equation.split(",")
    sizes: dict[str, int] = {}
    for index, term in enumerate(terms):
        shape, named = _in(node, index), term.replace("...", "")
        before = term.find("...") if "..." in term else len(term)
        free = len(shape) - len(named)
        labels = [*term[:before], *(f"...{free - i}" for i in range(free)), *term[before + 3 :]]
        for label, size in zip(labels, shape, strict=False):
            sizes[label] = max(size, sizes.get(label, 1))
    return math.prod(sizes.values()) * (len(terms) - 1)


def _recurrent(node: Any) -> int:
    """Each step multiplies by all of W [directions, gates * hidden, input] and R [directions, …, hidden]."""
    steps, batch, _ = _rank(_in(node, 0), 3)
    return steps * batch * (math.prod(_in(node, 1)) + math.prod(_in(node, 2)))


def _attention(node: Any) -> int:
    """ONNX's: Q, K, V as [batch, heads, length, size] or [batch, length, heads * size]."""
    q, k, v = (_rank(_in(node, i), 3, 4) for i in range(3))
    past = _in(node, 4)[2] if len(node.inputs) > 4 and node.inputs[4] is not None else 0
    if len(q) == 4:
        return q[0] * q[1] * q[2] * (k[2] + past) * (q[3] + v[3])
    heads, kept = _number(node, "q_num_heads"), _number(node, "kv_num_heads")
    if not heads or not kept:
        raise Uncountable("it does not say how many heads it has")
    return q[0] * q[1] * (k[1] + past) * (q[2] + heads * v[2] // kept)


def _joined_attention(past: int) -> Rule:
    """com.microsoft's Attention: x [batch, length, in] times one weight for Q, K and V, then attention."""

    def rule(node: Any) -> int:
        batch, length, inside = _rank(_in(node, 0), 3)
        width = _in(node, 1)[1]
        q = v = width // 3
        if "qkv_hidden_sizes" in node.attributes:
            q, _, v = node.attributes["qkv_hidden_sizes"].as_ints()
        before = _in(node, past)[3] if len(node.inputs) > past and node.inputs[past] is not None else 0
        return batch * length * (inside * width + (length + before) * (q + v))

    return rule


def _heads_attention(node: Any) -> int:
    """MultiHeadAttention: query [batch, length, hidden], or [batch, length, heads, 3, size] for all three."""
    q = _rank(_in(node, 0), 3, 5)
    if len(q) == 5:
        return q[0] * q[1] * q[1] * 2 * q[2] * q[4]
    k = _rank(_in(node, 1), 3, 4, 5)  # 5: keys and values in one, [batch, length, heads, 2, size]
    past = _in(node, 6)[2] if len(node.inputs) > 6 and node.inputs[6] is not None else 0
    length = (k[2] if len(k) == 4 else k[1]) + past
    wide = q[2]
    if len(k) != 5:
        v = _rank(_in(node, 2), 3, 4)
        wide = math.prod((v[1], v[-1])) if len(v) == 4 else v[2]
    return q[0] * q[1] * length * (q[2] + wide)


def _grouped_attention(node: Any) -> int:
    """GroupQueryAttention: query [batch, length, heads * size], or with keys and values behind it."""
    q, heads, kept = _rank(_in(node, 0), 3), _number(node, "num_heads"), _number(node, "kv_num_heads")
    if not heads or not kept:
        raise Uncountable("it does not say how many heads it has")
    wide = q[2] if node.inputs[1] is not None else q[2] * heads // (heads + 2 * kept)
    return q[0] * q[1] * _out(node, 1)[2] * 2 * wide  # output 1 holds all keys: [batch, heads, length, size]


def _linear(node: Any) -> int:
    return math.prod(_in(node, 0)[:-1]) * len(node.attributes["coefficients"].as_floats())


_MS = "com.microsoft"
_RULES: dict[tuple[str, str], Rule] = {
    ("", "Conv"): _convolution(1),
    ("", "ConvInteger"): _convolution(1),
    ("", "DeformConv"): _convolution(1),
    ("", "QLinearConv"): _convolution(3),
    (_MS, "QLinearConv"): _convolution(3),
    ("", "ConvTranspose"): _transposed_convolution,
    ("", "MatMul"): _product(),
    ("", "MatMulInteger"): _product(),
    ("", "QLinearMatMul"): _product(0, 3),
    ("", "Gemm"): _product(),
    (_MS, "FusedMatMul"): _product(),
    (_MS, "TransposeMatMul"): _product(),
    (_MS, "GemmFastGelu"): _product(),
    (_MS, "GemmFloat8"): _product(),
    (_MS, "QGemm"): _product(0, 3),
    (_MS, "MatMulNBits"): _packed_product,
    (_MS, "MatMulBnb4"): _packed_product,
    ("", "Einsum"): _einsum,
    ("", "LSTM"): _recurrent,
    ("", "GRU"): _recurrent,
    ("", "RNN"): _recurrent,
    ("", "Attention"): _attention,
    (_MS, "Attention"): _joined_attention(4),
    (_MS, "QAttention"): _joined_attention(8),
    (_MS, "MultiHeadAttention"): _heads_attention,
    (_MS, "GroupQueryAttention"): _grouped_attention,
    ("ai.onnx.ml", "LinearClassifier"): _linear,
    ("ai.onnx.ml", "LinearRegressor"): _linear,
}
_NO_FIXED_COUNT = frozenset({"DFT", "STFT", "Det", "LinearAttention"})
"""How many products these take hangs on the algorithm."""
_NONE = frozenset({
    "BiasAdd", "BiasGelu", "BiasSoftmax", "BiasSplitGelu", "DequantizeLinear", "EmbedLayerNormalization",
    "FastGelu", "Gelu", "GatherND", "GroupNorm", "LayerNormalization", "NhwcMaxPool", "Pad",
    "QEmbedLayerNormalization", "QLinearAdd", "QLinearAveragePool", "QLinearConcat",
    "QLinearGlobalAveragePool", "QLinearLeakyRelu", "QLinearMul", "QLinearReduceMean", "QLinearSigmoid",
    "QLinearSoftmax", "QLinearWhere", "QuantizeLinear", "QuickGelu", "RotaryEmbedding",
    "SimplifiedLayerNormalization", "SkipGroupNorm", "SkipLayerNormalization",
    "SkipSimplifiedLayerNormalization", "Trilu",
})  # fmt: skip
"""Operators of com.microsoft that multiply no matrices."""
