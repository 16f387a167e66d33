from __future__ import annotations

from typing import Any

import onnx_ir as ir
import pytest

from hotlap.model.macs import Uncountable, macs

MS = "com.microsoft"
Shape = list[int] | None


def node(op: str, inputs: list[Shape], outputs: list[Shape], domain: str = "", **attributes: Any) -> ir.Node:
    """A node whose values have these shapes; None: a value that is not there."""

    def value(name: str, shape: Shape) -> ir.Value:
        return ir.Value(name=name, shape=None if shape is None else ir.Shape(shape))

    read = [None if shape is None else value(f"i{i}", shape) for i, shape in enumerate(inputs)]
    written = [value(f"o{i}", shape) for i, shape in enumerate(outputs)]
    found = [ir.convenience.convert_attribute(k, v) for k, v in attributes.items()]
    return ir.Node(domain, op, read, found, outputs=written)


CASES = [
    # Each of 1*8*6*6 outputs sums 3 channels times a kernel of 3*3.
    (node("Conv", [[1, 3, 8, 8], [8, 3, 3, 3]], [[1, 8, 6, 6]]), 1 * 8 * 6 * 6 * 27),
    (node("Conv", [[1, 8, 4, 4], [8, 1, 3, 3]], [[1, 8, 4, 4]], group=8), 8 * 16 * 9),
    (node("ConvInteger", [[2, 3, 5], [4, 3, 2]], [[2, 4, 4]]), 2 * 4 * 4 * 6),
    (node("QLinearConv", [[1, 3, 8], [], [], [8, 3, 1], [], [], [], []], [[1, 8, 8]]), 8 * 8 * 3),
    # Each of 1*4*5*5 inputs goes to 2 channels and a kernel of 2*2.
    (node("ConvTranspose", [[1, 4, 5, 5], [4, 2, 2, 2]], [[1, 2, 10, 10]]), 4 * 25 * 8),
    (node("MatMul", [[2, 5, 16], [16, 3]], [[2, 5, 3]]), 2 * 5 * 3 * 16),
    (node("MatMul", [[16], [16, 3]], [[3]]), 48),
    (node("MatMul", [[16], [16]], [[]]), 16),
    (node("MatMulInteger", [[5, 16], [16, 3]], [[5, 3]]), 240),
    (node("QLinearMatMul", [[5, 16], [], [], [16, 3], [], [], [], []], [[5, 3]]), 240),
    (node("Gemm", [[16, 5], [3, 16], [3]], [[5, 3]], transA=1, transB=1), 240),
    (node("FusedMatMul", [[2, 16, 5], [2, 16, 3]], [[2, 5, 3]], MS, transA=1), 480),
    (node("MatMulNBits", [[2, 5, 16], [3, 1, 8], [3]], [[2, 5, 3]], MS, K=16, N=3, bits=4), 480),
    (node("Einsum", [[2, 3, 4], [2, 4, 5]], [[2, 3, 5]], equation="bij, bjk -> bik"), 2 * 3 * 4 * 5),
    (node("Einsum", [[7, 2, 3], [3, 5]], [[7, 2, 5]], equation="...j,jk->...k"), 7 * 2 * 3 * 5),
    (node("Einsum", [[4, 5]], [[5, 4]], equation="ij->ji"), 0),
    # 7 steps, 2 rows, 2 directions: W [2, 4*8, 4] and R [2, 4*8, 8].
    (node("LSTM", [[7, 2, 4], [2, 32, 4], [2, 32, 8]], [[7, 2, 2, 8]], hidden_size=8), 7 * 2 * (256 + 512)),
    (node("GRU", [[7, 2, 4], [1, 24, 4], [1, 24, 8]], [[7, 1, 2, 8]], hidden_size=8), 7 * 2 * (96 + 192)),
    # 2 rows, 4 heads of 8, 5 queries on 6 keys: once for the scores, once for the values.
    (node("Attention", [[2, 4, 5, 8], [2, 4, 6, 8], [2, 4, 6, 8]], [[2, 4, 5, 8]]), 2 * 4 * 5 * 6 * 16),
    (
        node(
            "Attention",
            [[2, 5, 32], [2, 6, 16], [2, 6, 16], None, [2, 2, 3, 8], [2, 2, 3, 8]],
            [[2, 5, 32]],
            q_num_heads=4,
            kv_num_heads=2,
        ),
        2 * 4 * 5 * 9 * 16,
    ),
    # com.microsoft: the projection of 32 to 96 first.
    (
        node("Attention", [[2, 5, 32], [32, 96], [96]], [[2, 5, 32]], MS, num_heads=4),
        2 * 5 * 32 * 96 + 2 * 4 * 5 * 5 * 16,
    ),
    (
        node(
            "Attention",
            [[2, 5, 32], [32, 80], [80], None, [2, 2, 4, 3, 8]],
            [[2, 5, 16]],
            MS,
            num_heads=4,
            qkv_hidden_sizes=[32, 32, 16],
        ),
        2 * 5 * 32 * 80 + 2 * 5 * 8 * (32 + 16),
    ),
    (
        node("QAttention", [[2, 5, 32], [32, 96], *[[]] * 6], [[2, 5, 32]], MS, num_heads=4),
        2 * 5 * 32 * 96 + 2 * 4 * 5 * 5 * 16,
    ),
    (
        node("MultiHeadAttention", [[2, 5, 32], [2, 6, 32], [2, 6, 16]], [[2, 5, 16]], MS, num_heads=4),
        2 * 5 * 6 * (32 + 16),
    ),
    (
        node("MultiHeadAttention", [[2, 5, 32], [2, 4, 6, 8], [2, 4, 6, 8]], [[2, 5, 32]], MS, num_heads=4),
        2 * 5 * 6 * 64,
    ),
    (node("MultiHeadAttention", [[2, 5, 4, 3, 8]], [[2, 5, 32]], MS, num_heads=4), 2 * 4 * 5 * 5 * 16),
    # 4 heads of 8 read 2 heads of keys; 9 positions with the past.
    (
        node(
            "GroupQueryAttention",
            [[2, 5, 32], [2, 5, 16], [2, 5, 16]],
            [[2, 5, 32], [2, 2, 9, 8], [2, 2, 9, 8]],
            MS,
            num_heads=4,
            kv_num_heads=2,
        ),
        2 * 4 * 5 * 9 * 16,
    ),
    (
        node(
            "GroupQueryAttention",
            [[2, 5, 64], None, None],
            [[2, 5, 32], [2, 2, 9, 8], [2, 2, 9, 8]],
            MS,
            num_heads=4,
            kv_num_heads=2,
        ),
        2 * 4 * 5 * 9 * 16,
    ),
    (node("LinearRegressor", [[7, 3]], [[7, 2]], "ai.onnx.ml", coefficients=[0.5] * 6), 42),
    (node("Relu", [[7, 3]], [[7, 3]]), 0),
    (node("SkipLayerNormalization", [[7, 3]], [[7, 3]], MS), 0),
    (node("TreeEnsembleRegressor", [[7, 3]], [[7, 1]], "ai.onnx.ml"), 0),
]


@pytest.mark.parametrize(
    ("one", "expected"), CASES, ids=lambda c: c.op_type if isinstance(c, ir.Node) else ""
)
def test_by_hand(one: ir.Node, expected: int) -> None:
    assert macs(one) == expected


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (node("MatMul", [[2, 16], None], [[2, 3]]), "the shape of its input 1 is unknown"),
        (node("MatMul", [[2, 16], [16, 3]], [None]), "the shape of its output 0 is unknown"),
        (node("MatMul", [[2, 16], [15, 3]], [[2, 3]]), "joins axes of 16 and 15"),
        (node("MatMul", [[], [16, 3]], [[3]]), "a matrix without axes"),
        (node("Conv", [[1, 4, 8], [8, 3, 3]], [[1, 8, 6]]), "joins axes of 4 and 3"),
        (node("LSTM", [[7, 2], [1, 32, 4], [1, 32, 8]], [[7, 1, 2, 8]]), "2 axes where 3 are expected"),
        (node("Attention", [[2, 5, 32]] * 3, [[2, 5, 32]]), "does not say how many heads"),
        (node("MoE", [[2, 5, 32]], [[2, 5, 32]], MS), "no rule counts it"),
        (node("Own", [[2, 5]], [[2, 5]], "example.com"), "no rule counts it"),
        (node("DFT", [[2, 5, 1]], [[2, 5, 2]]), "no rule counts it"),
    ],
)
def test_what_cannot_be_told_is_never_nothing(one: ir.Node, why: str) -> None:
    with pytest.raises(Uncountable, match=why):
        macs(one)
