"""HL207: weights that are no numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto as T

from hotlap.inspect.rules import nan_weights as rule
from tests import tiny
from tests.inspect.cases import found
from tests.inspect.runs import rows, run, small


def test_they_are_counted_and_spread(tmp_path: Path) -> None:
    weights = np.eye(8, dtype=np.float32)
    weights[3, 3] = np.nan
    model = small([tiny.node("MatMul", ["x", "w"], ["y"], name="product")], None, {"w": weights})
    assert np.isnan(run(model, x=rows(2))[0][:, 3]).all()
    [one] = found(rule, model, tmp_path)
    assert (one.severity, one.node, one.tensor) == ("error", 'MatMul "product"', "w")
    assert one.message == "1 of 64 numbers of w are NaN: whatever they meet becomes NaN"


def test_a_constant_of_an_inner_graph_is_found(tmp_path: Path) -> None:
    model = tiny.branch()
    inner = next(a.g for a in model.graph.node[2].attribute if a.name == "then_branch")
    bad = tiny.numpy_helper.from_array(np.array([np.nan], np.float32))
    inner.node.insert(0, tiny.node("Constant", [], ["bad"], value=bad))
    inner.node[1].input[1] = "bad"
    [one] = found(rule, model, tmp_path)
    assert one.severity == "error" and one.node.endswith('Add "→ t"')


def test_a_mark_for_what_is_missing_is_no_error(tmp_path: Path) -> None:
    model = tiny.model(
        [tiny.node("Where", ["known", "x", "nan"], ["y"])],
        [tiny.info("x", T.FLOAT, ["n"]), tiny.info("known", T.BOOL, ["n"])],
        [tiny.info("y", T.FLOAT, ["n"])],
        {"nan": np.float32(np.nan)},
    )
    [one] = found(rule, model, tmp_path)
    assert one.severity == "info"


def test_infinities_are_masks(tmp_path: Path) -> None:
    model = small([tiny.node("Add", ["x", "mask"], ["y"])], None, {"mask": np.full(8, -np.inf, np.float32)})
    assert found(rule, model, tmp_path) == []
    assert found(rule, tiny.mlp(), tmp_path) == []
