"""Models with weights that are inputs too: whoever calls them may give others."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto as T

from tests import tiny

__all__ = ["dropout", "encoder", "scaled"]


def scaled() -> onnx.ModelProto:
    """y = Relu(x · scale); scale is 1 unless the caller gives another."""
    made = tiny.model(
        [tiny.node("Mul", ["x", "scale"], ["m"]), tiny.node("Relu", ["m"], ["y"])],
        [tiny.info("x", T.FLOAT, ["N", 3]), tiny.info("scale", T.FLOAT, [])],
        [tiny.info("y", T.FLOAT, ["N", 3])],
        {"scale": np.array(1, np.float32)},
    )
    made.ir_version = 9
    return made


def dropout() -> onnx.ModelProto:
    """y = Relu(Dropout(x)), whose ratio a caller may give."""
    made = tiny.model(
        [tiny.node("Dropout", ["x", "ratio"], ["d"]), tiny.node("Relu", ["d"], ["y"])],
        [tiny.info("x", T.FLOAT, ["N", 3]), tiny.info("ratio", T.FLOAT, [])],
        [tiny.info("y", T.FLOAT, ["N", 3])],
        {"ratio": np.array(0.5, np.float32)},
    )
    made.ir_version = 9
    return made


def encoder() -> onnx.ModelProto:
    """y = Gelu(LayerNormalization(x + z)), where a caller may give another half for Gelu."""
    side = ["N", 4, 8]
    made = tiny.model(
        [
            tiny.node("Add", ["x", "z"], ["s"]),
            tiny.node("LayerNormalization", ["s", "g", "b"], ["l"], axis=-1, epsilon=1e-5),
            tiny.node("Div", ["l", "root"], ["d"]),
            tiny.node("Erf", ["d"], ["e"]),
            tiny.node("Add", ["e", "one"], ["p"]),
            tiny.node("Mul", ["l", "p"], ["t"]),
            tiny.node("Mul", ["t", "half"], ["y"]),
        ],
        [tiny.info("x", T.FLOAT, side), tiny.info("z", T.FLOAT, side), tiny.info("half", T.FLOAT, [])],
        [tiny.info("y", T.FLOAT, side)],
        {
            "g": np.ones(8, np.float32),
            "b": np.zeros(8, np.float32),
            "root": np.array(2**0.5, np.float32),
            "one": np.array(1, np.float32),
            "half": np.array(0.5, np.float32),
        },
    )
    made.ir_version = 9
    return made
