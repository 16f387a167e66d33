from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

from hotlap.errors import TargetFailed
from hotlap.passes.tools import run_tool
from tests import tiny
from tests.passes.asking import draft_of

pytestmark = pytest.mark.usefixtures("here")


def lost_branch(columns: int | str) -> onnx.ModelProto:
    """y = Relu(x) where c holds, else x·w, where w takes 4 columns; x: float32[1, columns].

    How often x is tiled on the way, which is once, is a number that the runtime has to fold first.
    """

    def branch(name: str, *nodes: onnx.NodeProto) -> onnx.GraphProto:
        return onnx.helper.make_graph(list(nodes), name, [], [tiny.info(f"{name}_y", T.FLOAT, None)])

    other = branch(
        "else",
        tiny.node("Abs", ["minus"], ["times"]),
        tiny.node("Tile", ["x", "times"], ["tiled"]),
        tiny.node("MatMul", ["tiled", "w"], ["else_y"]),
    )
    then = branch("then", tiny.node("Relu", ["x"], ["then_y"]))
    return tiny.model(
        [tiny.node("If", ["c"], ["y"], then_branch=then, else_branch=other)],
        [tiny.info("x", T.FLOAT, [1, columns]), tiny.info("c", T.BOOL, [])],
        [tiny.info("y", T.FLOAT, None)],
        {"minus": np.array([-1, -1]), "w": np.ones((4, 4), np.float32)},
    )


def test_what_loads_and_what_does_not(tmp_path: Path) -> None:
    for options in ({}, {"optimised": True}):
        run_tool("load", draft_of(tiny.mlp(), tmp_path), options)
        with pytest.raises(TargetFailed, match=r"load: .*NoSuchOperator"):
            run_tool("load", draft_of(tiny.unknown_operator(), tmp_path), options)


def test_what_shows_only_once_the_runtime_has_folded(tmp_path: Path) -> None:
    draft = draft_of(lost_branch(2), tmp_path)
    run_tool("load", draft)
    with pytest.raises(TargetFailed, match=r"load: .*Incompatible dimensions"):
        run_tool("load", draft, {"optimised": True})
