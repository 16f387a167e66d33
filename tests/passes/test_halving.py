from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

from hotlap.passes.halving import FLOAT, Halving, convertible
from tests import tiny
from tests.passes.asking import answers, assert_same, draft_of, ops, rng_feed

SPARSE = onnx.helper.make_sparse_tensor(
    onnx.numpy_helper.from_array(np.ones(1, np.float32)),
    onnx.numpy_helper.from_array(np.zeros(1, np.int64)),
    [2],
)
MLP = dict.fromkeys(("x", "w1", "b1", "h", "r", "w2", "b2", "y"), FLOAT)


@pytest.mark.parametrize(
    ("node", "types", "can"),
    [
        (tiny.node("Relu", ["a"], ["b"]), {"a": 1, "b": 1}, True),
        (tiny.node("ArgMax", ["a"], ["b"]), {"a": 1, "b": 7}, True),
        (tiny.node("Add", ["a", "a"], ["b"]), {"a": 7, "b": 7}, False),
        (tiny.node("Relu", ["a"], ["b"]), {"a": 1}, False),
        (tiny.node("QuantizeLinear", ["a", "a"], ["b"]), {"a": 1, "b": 2}, False),
        (tiny.node("FusedGemm", ["a"], ["b"], domain="com.microsoft"), {"a": 1, "b": 1}, False),
        (tiny.node("Cast", ["a"], ["b"], to=T.FLOAT), {"a": 7, "b": 1}, True),
        (tiny.node("Constant", [], ["b"], value_float=1.0), {"b": 1}, True),
        (tiny.node("Constant", [], ["b"], sparse_value=SPARSE), {"b": 1}, False),
        (tiny.node("HannWindow", ["a"], ["b"]), {"a": 7, "b": 1}, False),
    ],
)
def test_what_can_be_float16(node: onnx.NodeProto, types: dict[str, int], can: bool) -> None:
    assert convertible(node, types, 17) is can


@pytest.mark.parametrize("chosen", [{0, 1, 2}, {0}, {1}, {0, 2}, set()])
@pytest.mark.parametrize("emulate", [False, True])
def test_any_choice_of_nodes_is_a_valid_graph_that_answers_nearly_the_same(
    chosen: set[int], emulate: bool, tmp_path: Path
) -> None:
    draft = draft_of(tiny.mlp(), tmp_path)
    proto = draft.copy()
    Halving(proto, MLP, chosen, emulate).rewrite()
    onnx.checker.check_model(proto, full_check=True)
    made = draft.edited(proto)
    feed = rng_feed(x=(2, 16))
    assert_same(answers(draft, feed, tmp_path), answers(made, feed, tmp_path), 0.05)
    halves = sum(t.data_type == T.FLOAT16 for t in proto.graph.initializer)
    assert (halves > 0) is (bool(chosen & {0, 2}) and not emulate)


@pytest.mark.parametrize("emulate", [False, True])
def test_no_two_nodes_have_one_name(emulate: bool, tmp_path: Path) -> None:
    model = tiny.mlp()
    for node, name in zip(model.graph.node, ("y_cast", "x_half_cast", "h_cast"), strict=True):
        node.name = name
    draft = draft_of(model, tmp_path)
    proto = draft.copy()
    Halving(proto, MLP, {0, 2}, emulate).rewrite()
    labels = [node.name for node in proto.graph.node if node.name]
    assert len(labels) > 4 and len(set(labels)) == len(labels)
    answers(draft.edited(proto), rng_feed(x=(2, 16)), tmp_path)  # the runtime refuses equal names


@pytest.mark.parametrize("written", [{"value_float": 3.0}, {"value_floats": [1.0, 3.0]}])
def test_constants_that_are_written_as_numbers(written: dict[str, Any], tmp_path: Path) -> None:
    model = tiny.model(
        [tiny.node("Constant", [], ["c"], **written), tiny.node("Mul", ["x", "c"], ["y"])],
        [tiny.info("x", T.FLOAT, ["N", 2])],
        [tiny.info("y", T.FLOAT, ["N", 2])],
    )
    draft = draft_of(model, tmp_path)
    proto = draft.copy()
    Halving(proto, dict.fromkeys("xcy", FLOAT), {0, 1}).rewrite()
    onnx.checker.check_model(proto, full_check=True)
    feed = rng_feed(x=(2, 2))
    assert_same(answers(draft, feed, tmp_path), answers(draft.edited(proto), feed, tmp_path), 0.01)


def test_nodes_side_by_side_need_no_cast_between(tmp_path: Path) -> None:
    draft = draft_of(tiny.mlp(), tmp_path)
    proto = draft.copy()
    Halving(proto, MLP, {0, 1, 2}).rewrite()
    assert ops(draft.edited(proto)) == ["Cast", "Gemm", "Relu", "Gemm", "Cast"]
    assert len(proto.SerializeToString()) < len(draft.data)


def test_the_emulation_rounds_what_float16_cannot_hold(tmp_path: Path) -> None:
    draft = draft_of(tiny.add(), tmp_path)
    proto = draft.copy()
    Halving(proto, {"x": FLOAT, "y": FLOAT}, {0}, emulate=True).rewrite()
    from hotlap.runtime import open as open_model

    folder = tmp_path / "e"
    folder.mkdir()
    path = draft.edited(proto).lay(folder)
    with open_model(path, session={"graph_optimization_level": "ORT_DISABLE_ALL"}) as runner:
        got = runner.run({"x": np.array([[40_000, 1e-9, 1, 1 / 3]], np.float32)})["y"]
    assert got[0, 0] == np.inf and got[0, 1] == 0 and got[0, 2] == 2
    assert got[0, 3] == np.float16(2 / 3)
