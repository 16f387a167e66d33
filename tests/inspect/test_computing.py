"""Who computes, seen through what only moves numbers."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto as T

from hotlap.inspect.computing import MOVES, after_moves
from hotlap.model.walk import Walk
from tests import tiny


def test_movers_are_looked_through() -> None:
    model = tiny.model(
        [
            tiny.node("Add", ["x", "x"], ["a"]),
            tiny.node("Reshape", ["a", "s"], ["b"]),
            tiny.node("Cast", ["b"], ["c"], to=T.DOUBLE),
            tiny.node("Exp", ["c"], ["d"]),
            tiny.node("Sqrt", ["a"], ["e"]),
        ],
        [tiny.info("x", T.FLOAT, ["n"])],
        [],
        {"s": np.array([-1])},
    )
    walk = Walk(model)
    add = next(walk.nodes("Add"))
    assert sorted(n.op for n in after_moves(walk, add)) == ["Exp", "Sqrt"]
    assert "Reshape" in MOVES and "Add" not in MOVES
