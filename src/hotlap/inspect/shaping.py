"""What shape each operator makes of those that it reads.

Sources: ONNX's Operators.md, ORT's ContribOperators.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hotlap.inspect.asking import Given, axis_of, numbers, part
from hotlap.inspect.dims import Clash, Dims, broadcast, joined, reshaped
from hotlap.model.constants import constant
from hotlap.model.walk import Node

__all__ = ["ALL_ALIKE", "SHAPE", "reduced"]


def _first(s: Given, n: Node) -> Dims | None:
    return s.input(n, 0)


def _constant_dims(s: Given, n: Node) -> Dims | None:
    tensor = n.attribute("value")
    if tensor is not None:
        return tuple(int(d) for d in tensor.dims)
    found = constant(s.walk, n.scope, n.proto.output[0])
    return None if found is None else found.shape


def _elementwise(s: Given, n: Node) -> Dims | None:
    dims, clashes = broadcast([s.input(n, i) for i in range(len(n.proto.input))])
    s.pin(n, clashes, _guilty(s, n))
    return dims


def _guilty(s: Given, n: Node) -> str:
    """The first constant that the node reads: what holds a size that the rest does not have."""
    return next((v for v in n.proto.input if v and s.walk.is_constant(n.scope, v)), "")


def _matmul(s: Given, n: Node) -> Dims | None:
    wide = {"QLinearMatMul": 3, "MatMul": 1, "MatMulInteger": 1, "MatMulIntegerToFloat": 1}
    return _product(s, n, s.input(n, 0), s.input(n, wide.get(n.proto.op_type, 1)))


def _product(s: Given, n: Node, a: Dims | None, b: Dims | None) -> Dims | None:
    if a is None or b is None or not a or not b:
        return None
    before, clashes = broadcast([a[:-2], b[:-2]])
    s.pin(n, clashes, _guilty(s, n))
    if before is None:
        return None
    return (*before, *(a[-2:-1]), *(b[-1:] if len(b) > 1 else ()))


def _gemm(s: Given, n: Node) -> Dims | None:
    a, b = s.input(n, 0), s.input(n, 3 if n.proto.op_type == "QGemm" else 1)
    if a is None or b is None or len(a) != 2 or len(b) != 2:
        return None
    return a[1 if n.attribute("transA", 0) else 0], b[0 if n.attribute("transB", 0) else 1]


def _conv(s: Given, n: Node) -> Dims | None:
    at = {"QLinearConv": 3}.get(n.proto.op_type, 1)
    x, w = s.input(n, 0), s.input(n, at)
    if x is None or w is None or not w:
        return None
    sides = (None,) * (len(x) - 2)
    return (x[0], *sides, w[0]) if n.attribute("channels_last", 0) else (x[0], w[0], *sides)


def _pool(s: Given, n: Node) -> Dims | None:
    x = s.input(n, 0)
    return None if x is None else (*x[:2], *(None,) * (len(x) - 2))


def _global(s: Given, n: Node) -> Dims | None:
    x = s.input(n, 0)
    return None if x is None else (*x[:2], *(1,) * (len(x) - 2))


def _transpose(s: Given, n: Node) -> Dims | None:
    x = s.input(n, 0)
    if x is None:
        return None
    order = n.attribute("perm", list(range(len(x)))[::-1])
    if sorted(order) != list(range(len(x))):
        return None
    return tuple(x[i] for i in order)


def _reshape(s: Given, n: Node) -> Dims | None:
    target = s.ints(n, 1)
    if target is None:
        return None
    dims, clashes = reshaped(s.input(n, 0), tuple(a.size for a in target), bool(n.attribute("allowzero", 0)))
    s.pin(n, clashes, next((a.source for a in target if a.source), ""))
    return tuple(None if isinstance(d, int) and d < 0 else d for d in dims)


def _flatten(s: Given, n: Node) -> Dims | None:
    x, axis = s.input(n, 0), n.attribute("axis", 1)
    if x is None or not -len(x) <= axis <= len(x):
        return None
    at = axis + len(x) if axis < 0 else axis
    front = reshaped(x[:at], (-1,))[0] if at else (1,)
    back = reshaped(x[at:], (-1,))[0] if at < len(x) else (1,)
    return (*front, *back)


def _squeeze(s: Given, n: Node) -> Dims | None:
    x, axes = s.input(n, 0), numbers(s, n, 1, "axes")
    if x is None or (axes is None and any(n.proto.input[1:2])):
        return None
    if not axes and not all(isinstance(d, int) for d in x):
        return None
    # ORT reads an empty list of axes as none: all that are 1 go.
    gone = {axis_of(a, len(x)) for a in axes} if axes else {i for i, d in enumerate(x) if d == 1}
    s.pin(n, [Clash(d, (1,)) for i in sorted(gone) if isinstance(d := x[i], str)])
    return tuple(d for i, d in enumerate(x) if i not in gone)


def _unsqueeze(s: Given, n: Node) -> Dims | None:
    x, axes = s.input(n, 0), numbers(s, n, 1, "axes")
    if x is None or axes is None:
        return None
    rank = len(x) + len(axes)
    new, rest = {axis_of(a, rank) for a in axes}, iter(x)
    if len(new) != len(axes):
        return None
    return tuple(1 if i in new else next(rest) for i in range(rank))


def _concat(s: Given, n: Node) -> Dims | None:
    dims, clashes = joined([s.input(n, i) for i in range(len(n.proto.input))], n.attribute("axis", 0))
    s.pin(n, clashes, _guilty(s, n))
    return dims


def _along_axis_unknown(s: Given, n: Node) -> Dims | None:
    x, axis = s.input(n, 0), n.attribute("axis", -1 if n.proto.op_type == "TopK" else 0)
    if x is None:
        return None
    at = axis_of(axis, len(x))
    return (*x[:at], None, *x[at + 1 :])


def _compress(s: Given, n: Node) -> Dims | None:
    return (None,) if n.attribute("axis") is None else _along_axis_unknown(s, n)


def _slice(s: Given, n: Node) -> Dims | None:
    x = s.input(n, 0)
    starts = numbers(s, n, 1, "starts")
    axes = numbers(s, n, 3, "axes")
    if x is None:
        return None
    if axes is None and starts is not None and len([v for v in n.proto.input[3:4] if v]) == 0:
        axes = list(range(len(starts)))
    if axes is None:
        return (None,) * len(x)
    cut = {axis_of(a, len(x)) for a in axes}
    return tuple(None if i in cut else d for i, d in enumerate(x))


def _gather(s: Given, n: Node) -> Dims | None:
    x, at = s.input(n, 0), s.input(n, 1)
    if x is None or at is None:
        return None
    axis = axis_of(n.attribute("axis", 0), len(x))
    return (*x[:axis], *at, *x[axis + 1 :])


def _second(s: Given, n: Node) -> Dims | None:
    return s.input(n, 1)


def _reduce(s: Given, n: Node) -> Dims | None:
    x = s.input(n, 0)
    axes = reduced(s, n)
    if x is None or axes is None:
        return None
    if n.attribute("keepdims", 1):
        return tuple(1 if i in axes else d for i, d in enumerate(x))
    return tuple(d for i, d in enumerate(x) if i not in axes)


def reduced(s: Given, n: Node) -> set[int] | None:
    """The axes that a ``Reduce…``, ``ArgMax`` or ``ArgMin`` node gathers up; None where not known."""
    x = s.input(n, 0)
    if x is None:
        return None
    if n.proto.op_type in ("ArgMax", "ArgMin"):
        return {axis_of(n.attribute("axis", 0), len(x))}
    axes = numbers(s, n, 1, "axes")
    if axes is None and len(n.proto.input) > 1 and n.proto.input[1]:
        return None
    if not axes:
        return set() if n.attribute("noop_with_empty_axes", 0) else set(range(len(x)))
    return {axis_of(a, len(x)) for a in axes}


def _expand(s: Given, n: Node) -> Dims | None:
    target = s.ints(n, 1)
    x = s.input(n, 0)
    if target is None or x is None:
        return None
    dims, clashes = broadcast([x, tuple(a.size for a in target)])
    works = {c.works[-1] for c in clashes if c.works}
    s.pin(n, clashes, next((a.source for a in target if a.size in works), ""))
    return dims


def _tile(s: Given, n: Node) -> Dims | None:
    x, times = s.input(n, 0), numbers(s, n, 1)
    if x is None or times is None or len(times) != len(x):
        return None if x is None else (None,) * len(x)
    return tuple(
        d if t == 1 else d * t if isinstance(d, int) else None for d, t in zip(x, times, strict=True)
    )


def _of_shape(s: Given, n: Node) -> Dims | None:
    target = s.ints(n, 0)
    return None if target is None else tuple(a.size for a in target)


def _shape(s: Given, n: Node) -> Dims | None:
    x = s.input(n, 0)
    return None if x is None else (len(x[part(n, len(x))]),)


def _pad(s: Given, n: Node) -> Dims | None:
    x, pads = s.input(n, 0), numbers(s, n, 1, "pads")
    if x is None:
        return None
    axes = numbers(s, n, 3) if any(n.proto.input[3:4]) else list(range(len(x)))
    if pads is None or axes is None or len(pads) != 2 * len(axes):
        return (None,) * len(x)
    dims = list(x)
    for axis, a, b in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        at = axis_of(axis, len(x))
        size = x[at]
        dims[at] = size if a == b == 0 else size + a + b if isinstance(size, int) else None
    return tuple(dims)


def _resize(s: Given, n: Node) -> Dims | None:
    x = s.input(n, 0)
    return None if x is None else (None,) * len(x)


def _recurrent(s: Given, n: Node) -> Dims | None:
    """X [steps, rows, features] to Y [steps, directions, rows, hidden]; in layout 1 the rows stand first."""
    x, w = s.input(n, 0), s.input(n, 1)
    if x is None or w is None or len(x) != 3 or not w:
        return None
    rows_first = bool(n.attribute("layout", 0))
    steps, rows = (x[1], x[0]) if rows_first else (x[0], x[1])
    for number in (5, 6):
        start = s.input(n, number) if n.proto.op_type in ("LSTM", "GRU", "RNN") else None
        if start is not None and len(start) == 3:
            have = start[0 if rows_first else 1]
            if isinstance(have, int) and isinstance(rows, str):
                s.pin(n, [Clash(rows, (have,))], n.proto.input[number])
    hidden = n.attribute("hidden_size")
    return (rows, steps, w[0], hidden) if rows_first else (steps, w[0], rows, hidden)


_UNARY = (
    "Abs Acos Acosh Asin Asinh Atan Atanh BatchNormalization Cast CastLike Ceil Celu Clip Cos Cosh CumSum "
    "DequantizeLinear Dropout DynamicQuantizeLinear Elu Erf Exp EyeLike Floor Gelu GroupNormalization "
    "HardSigmoid HardSwish Hardmax Identity InstanceNormalization IsInf IsNaN LRN LayerNormalization "
    "LeakyRelu Log LogSoftmax LpNormalization MeanVarianceNormalization Mish Neg Not PRelu QuantizeLinear "
    "RMSNormalization RandomNormalLike RandomUniformLike Reciprocal Relu Round ScatterElements ScatterND "
    "Selu Shrink Sigmoid Sign Sin Sinh Softmax Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu Trilu "
    "BiasGelu FastGelu QuickGelu SkipLayerNormalization SimplifiedLayerNormalization"
)
_BROADCAST = (
    "Add And BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min "
    "Mod Mul Or Pow Sub Sum Where Xor"
)
_REDUCE = (
    "ArgMax ArgMin ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd "
    "ReduceSum ReduceSumSquare"
)
SHAPE: Mapping[str, Callable[[Given, Node], Dims | None]] = {
    **dict.fromkeys(_UNARY.split(), _first),
    **dict.fromkeys(_BROADCAST.split(), _elementwise),
    **dict.fromkeys(_REDUCE.split(), _reduce),
    **dict.fromkeys(("MatMul", "MatMulInteger", "QLinearMatMul", "MatMulIntegerToFloat"), _matmul),
    **dict.fromkeys(("DynamicQuantizeMatMul",), _matmul),
    **dict.fromkeys(("Gemm", "QGemm"), _gemm),
    **dict.fromkeys(("Conv", "ConvInteger", "QLinearConv", "FusedConv"), _conv),
    **dict.fromkeys(("MaxPool", "AveragePool", "LpPool"), _pool),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"), _global),
    **dict.fromkeys(("Split", "TopK"), _along_axis_unknown),
    **dict.fromkeys(("Resize", "Upsample"), _resize),
    **dict.fromkeys(("LSTM", "GRU", "RNN"), _recurrent),
    "Compress": _compress, "Concat": _concat, "Constant": _constant_dims, "ConstantOfShape": _of_shape,
    "Expand": _expand, "Flatten": _flatten, "Gather": _gather, "GatherElements": _second, "Pad": _pad,
    "Reshape": _reshape, "Shape": _shape, "Slice": _slice, "Squeeze": _squeeze, "Tile": _tile,
    "Transpose": _transpose, "Unsqueeze": _unsqueeze,
}  # fmt: skip
ALL_ALIKE = frozenset({"Split", "TopK"})
"""Their outputs have shapes alike (as far as is told here); of others only the first output is followed."""
