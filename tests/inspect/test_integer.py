"""Which nodes multiply 8-bit integers."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto as T

from hotlap.inspect.integer import products
from hotlap.model.walk import Walk
from tests import tiny
from tests.inspect.quantised import dynamic_matmul, qdq_conv, qdq_matmul
from tests.inspect.runs import with_microsoft


def test_integer_operators_and_their_weights() -> None:
    model = with_microsoft(
        tiny.model(
            [
                tiny.node("MatMulInteger", ["a", "w"], ["p"]),
                tiny.node("QGemm", ["a", "s", "za", "w", "s", "zw"], ["q"], domain="com.microsoft", transB=1),
                tiny.node("DynamicQuantizeMatMul", ["x", "u", "s"], ["r"], domain="com.microsoft"),
                tiny.node("MatMulInteger", ["a"], ["broken"]),
            ],
            [tiny.info("a", T.UINT8, ["n", 4]), tiny.info("x", T.FLOAT, ["n", 4])],
            [],
            {
                "w": np.ones((4, 4), np.int8),
                "u": np.ones((4, 4), np.uint8),
                "s": np.float32(1),
                "za": np.uint8(0),
                "zw": np.int8(0),
            },
        )
    )
    found = [(p.node.proto.op_type, p.activations, p.weights, p.value, p.kind) for p in products(Walk(model))]
    assert sorted(found) == [
        ("DynamicQuantizeMatMul", "uint8", "uint8", "u", "matmul"),
        ("MatMulInteger", "uint8", "int8", "w", "matmul"),
        ("QGemm", "uint8", "int8", "w", "transposed"),
    ]


def test_float_operators_between_dequantisers() -> None:
    [matmul] = products(Walk(qdq_matmul(weights=np.ones((16, 8), np.int8))))
    assert (matmul.activations, matmul.weights, matmul.value, matmul.kind) == ("uint8", "int8", "w", "matmul")
    assert matmul.wrapped
    [conv] = products(Walk(qdq_conv(weights=np.ones((8, 4, 3, 3), np.uint8))))
    assert (conv.weights, conv.kind) == ("uint8", "conv")


def test_floats_are_no_product() -> None:
    assert list(products(Walk(tiny.mlp()))) == []
    assert len(list(products(Walk(dynamic_matmul())))) == 1
