"""HL209: unsigned by unsigned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto

from hotlap.inspect.rules import both_unsigned_8_bit as rule
from tests import tiny
from tests.inspect.cases import found
from tests.inspect.quantised import dynamic_conv, dynamic_matmul, full_range, qdq_conv, qdq_matmul

UNSIGNED = (full_range((64, 8)).astype(int) + 128).astype(np.uint8)


def test_unsigned_weights_are_named(tmp_path: Path) -> None:
    [one] = found(rule, qdq_matmul(UNSIGNED), tmp_path)
    assert (one.severity, one.node, one.tensor) == ("warning", 'MatMul "core"', "w")
    assert "QInt8" in one.fix
    [one] = found(rule, dynamic_matmul(weights=UNSIGNED), tmp_path)
    assert one.node == 'MatMulInteger "product"'


def test_two_activations_are_no_weights(tmp_path: Path) -> None:
    model = dynamic_matmul(weights=UNSIGNED)
    model.graph.input.append(tiny.info("w", TensorProto.UINT8, [64, 8]))
    del model.graph.initializer[:]
    assert found(rule, model, tmp_path) == []


def test_signed_weights_and_activations_are_left_alone(tmp_path: Path) -> None:
    for model in (
        qdq_matmul(full_range((64, 8))),
        qdq_conv(full_range((8, 4, 3, 3))),
        qdq_matmul(UNSIGNED, np.int8(-128)),
        dynamic_conv(),
        tiny.mlp(),
    ):
        assert found(rule, model, tmp_path) == []
