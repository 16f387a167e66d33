"""Quantised models of a few nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto as T

from tests import tiny

__all__ = ["dynamic_conv", "dynamic_matmul", "full_range", "qdq_conv", "qdq_matmul"]

Array = np.ndarray[Any, Any]
UNSIGNED = np.uint8(0)
"""A zero point that makes the activations uint8."""


def full_range(shape: Sequence[int], bits: int = 8, seed: int = 0) -> Array:
    """int8 weights, normally distributed, that fill so many bits."""
    top = 2 ** (bits - 1) - 1
    drawn = np.clip(np.random.default_rng(seed).normal(size=shape) * 0.47 * top, -top, top)
    return np.round(drawn).astype(np.int8)


def _wrap(op: str, weights: Array, zero: Any, extra: Sequence[onnx.NodeProto], **attributes: Any) -> Any:
    nodes = [
        tiny.node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
        tiny.node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"]),
        tiny.node("DequantizeLinear", ["w", "ws", "wz"], ["wd"]),
        tiny.node(op, ["xd", "wd"], ["c"], name="core", **attributes),
        *extra,
    ]
    held = {
        "w": weights,
        "xs": np.float32(1 / 255),
        "xz": np.asarray(zero),
        "ws": np.float32(0.01),
        "wz": weights.dtype.type(0 if weights.dtype == np.int8 else 128),
        "ys": np.float32(0.05),
        "yz": np.asarray(zero),
    }
    return nodes, held


AFTER = (
    tiny.node("QuantizeLinear", ["c", "ys", "yz"], ["cq"]),
    tiny.node("DequantizeLinear", ["cq", "ys", "yz"], ["y"]),
)


def qdq_matmul(
    weights: Array,
    zero: Any = UNSIGNED,
    after: Sequence[onnx.NodeProto] = AFTER,
) -> onnx.ModelProto:
    """x: float32[n, K] from 0 to 1, through 8 bits."""
    nodes, held = _wrap("MatMul", weights, zero, after)
    return tiny.model(
        nodes,
        [tiny.info("x", T.FLOAT, ["n", weights.shape[0]])],
        [tiny.info("y", T.FLOAT, None)],
        held,
    )


def qdq_conv(
    weights: Array,
    zero: Any = UNSIGNED,
    after: Sequence[onnx.NodeProto] = AFTER,
    **attributes: Any,
) -> onnx.ModelProto:
    """x: float32[n, C, 8, 8] from 0 to 1, through 8 bits."""
    nodes, held = _wrap("Conv", weights, zero, after, **attributes)
    channels = weights.shape[1] * attributes.get("group", 1)
    return tiny.model(
        nodes,
        [tiny.info("x", T.FLOAT, ["n", channels, 8, 8])],
        [tiny.info("y", T.FLOAT, None)],
        held,
    )


def dynamic_matmul(rows: int | str = "batch", weights: Array | None = None) -> onnx.ModelProto:
    """As ``quantize_dynamic`` writes a MatMul; x: float32[rows, 64]."""
    return tiny.model(
        [
            tiny.node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"], name="quantise"),
            tiny.node("MatMulInteger", ["q", "w", "z"], ["i"], name="product"),
            tiny.node("Cast", ["i"], ["f"], to=T.FLOAT),
            tiny.node("Mul", ["f", "s"], ["y"]),
        ],
        [tiny.info("x", T.FLOAT, [rows, 64])],
        [tiny.info("y", T.FLOAT, [rows, 8])],
        {"w": full_range((64, 8)) if weights is None else weights},
    )


def dynamic_conv() -> onnx.ModelProto:
    """As ``quantize_dynamic`` writes a Conv; x: float32[1, 4, 8, 8]."""
    return tiny.model(
        [
            tiny.node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
            tiny.node("ConvInteger", ["q", "w", "z"], ["i"], name="conv"),
            tiny.node("Cast", ["i"], ["f"], to=T.FLOAT),
            tiny.node("Mul", ["f", "s"], ["y"]),
        ],
        [tiny.info("x", T.FLOAT, [1, 4, 8, 8])],
        [tiny.info("y", T.FLOAT, None)],
        {"w": full_range((8, 4, 3, 3))},
    )
