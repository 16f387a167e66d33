"""A model that runs for as long as a test wants, in many small nodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx

from tests import tiny

T = onnx.TensorProto


def loop(folder: Path) -> Path:
    """total = x added to itself n times; n: int64[] and x: float32[K]. Each turn is a node of its own."""
    body = onnx.helper.make_graph(
        [tiny.node("Identity", ["go_in"], ["go_out"]), tiny.node("Add", ["sum_in", "x"], ["sum_out"])],
        "body",
        [tiny.info("i", T.INT64, []), tiny.info("go_in", T.BOOL, []), tiny.info("sum_in", T.FLOAT, ["K"])],
        [tiny.info("go_out", T.BOOL, []), tiny.info("sum_out", T.FLOAT, ["K"])],
    )
    built = tiny.model(
        [
            tiny.node("Sub", ["x", "x"], ["zero"]),
            tiny.node("Loop", ["n", "true", "zero"], ["total"], body=body),
        ],
        [tiny.info("x", T.FLOAT, ["K"]), tiny.info("n", T.INT64, [])],
        [tiny.info("total", T.FLOAT, ["K"])],
        {"true": np.array(True)},
    )
    return tiny.save(built, folder / "loop.onnx")


FOREVER = np.array(10**9)  # turns; an hour or so
SHORT = np.array(3)
X = np.ones(4, np.float32)
