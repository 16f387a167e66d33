"""HL102: operators that mix rows, each seen to do so (or not) in a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

from hotlap.inspect.case import Ran
from hotlap.inspect.rules import rows_depend_on_neighbours as rule
from hotlap.plan import Facts
from tests import tiny
from tests.inspect.cases import found
from tests.inspect.quantised import dynamic_matmul
from tests.inspect.runs import rows, run, small

FEATURES = {n: np.full(8, v, np.float32) for n, v in {"one": 1, "zero": 0}.items()}


def first_row_moves(model: onnx.ModelProto, width: int = 8) -> bool:
    """Whether the first row's answer changes when a loud row stands beside it."""
    alone, loud = rows(1, width), 50 * rows(1, width, seed=1)
    one = run(model, x=alone)[0]
    both = run(model, x=np.concatenate([alone, loud]))[0]
    return bool(both.ndim == 0 or both.shape[0] < 2 or np.abs(both[:1] - one).max() > 1e-3)


MIXING: list[tuple[str, list[onnx.NodeProto], dict[str, Any]]] = [
    ("Softmax", [tiny.node("Softmax", ["x"], ["y"], axis=0, name="n")], {}),
    (
        "ReduceMean",
        [
            tiny.node("ReduceMean", ["x"], ["m"], axes=[0], name="n"),
            tiny.node("Sub", ["x", "m"], ["y"]),
        ],
        {},
    ),
    (
        "LayerNormalization",
        [tiny.node("LayerNormalization", ["x", "g"], ["y"], axis=0, name="n")],
        {"g": np.ones((1, 8), np.float32)},
    ),
    (
        "BatchNormalization",
        [
            tiny.node(
                "BatchNormalization",
                ["x", "one", "zero", "zero", "one"],
                ["y", "mean", "var"],
                training_mode=1,
                name="n",
            )
        ],
        FEATURES,
    ),
]


@pytest.mark.parametrize(("op", "nodes", "weights"), MIXING)
def test_operators_that_mix_rows_are_named(
    tmp_path: Path, op: str, nodes: list[onnx.NodeProto], weights: dict[str, Any]
) -> None:
    model = small(nodes, None, weights)
    if op != "LayerNormalization":  # ORT refuses a scale of one row for two
        assert first_row_moves(model)
    [one] = found(rule, model, tmp_path)
    assert (one.severity, one.node) == ("warning", f'{op} "n"')


@pytest.mark.parametrize(
    "node",
    [
        tiny.node("Softmax", ["x"], ["y"], axis=1),
        tiny.node("ReduceMean", ["x"], ["y"], axes=[1]),
        tiny.node("BatchNormalization", ["x", "one", "zero", "zero", "one"], ["y"]),
        tiny.node("LpNormalization", ["x"], ["y"], axis=1),
    ],
)
def test_operators_that_keep_rows_apart(tmp_path: Path, node: onnx.NodeProto) -> None:
    model = small([node], None, FEATURES)
    assert not first_row_moves(model)
    assert found(rule, model, tmp_path) == []


def test_one_scale_for_all_rows(tmp_path: Path) -> None:
    assert first_row_moves(dynamic_matmul(), 64)
    [one] = found(rule, dynamic_matmul(), tmp_path)
    assert (one.severity, one.node) == ("warning", 'DynamicQuantizeLinear "quantise"')
    assert "one scale for all rows" in one.message and "statically" in one.fix


def test_one_row_alone_has_no_neighbours(tmp_path: Path) -> None:
    assert found(rule, dynamic_matmul(1), tmp_path) == []


def test_what_a_run_saw_is_told(tmp_path: Path) -> None:
    seen = Ran(facts=Facts(rows="dependent", why="row 0 of y differs by 0.2 beside other rows"))
    [one] = found(rule, tiny.add(), tmp_path, ran=seen)
    assert one.message == (
        "the rows of one call are not independent: row 0 of y differs by 0.2 beside other rows"
    )
    [one] = found(rule, small(MIXING[0][1]), tmp_path, ran=seen)
    assert one.node == 'Softmax "n"'
    [one] = found(rule, dynamic_matmul(), tmp_path, ran=seen)
    assert "a run shows it" in one.message


def test_a_run_that_saw_nothing_clears_all_but_the_scale(tmp_path: Path) -> None:
    seen = Ran(facts=Facts(rows="independent"))
    assert found(rule, small(MIXING[0][1]), tmp_path, ran=seen) == []
    [one] = found(rule, dynamic_matmul(), tmp_path, ran=seen)
    assert "a louder neighbour would" in one.message


def test_unknown_is_not_dependent(tmp_path: Path) -> None:
    assert found(rule, tiny.add(), tmp_path, ran=Ran(facts=Facts(rows="unknown", why="no input ran"))) == []


def test_a_reduction_that_only_sizes_something_is_left_alone(tmp_path: Path) -> None:
    model = tiny.model(
        [
            tiny.node("ReduceMax", ["lengths"], ["longest"], keepdims=1),
            tiny.node("Expand", ["x", "longest"], ["y"]),
        ],
        [tiny.info("x", T.FLOAT, ["n", 1]), tiny.info("lengths", T.INT64, ["n"])],
        [tiny.info("y", T.FLOAT, None)],
    )
    assert found(rule, model, tmp_path) == []


def test_softmax_of_old_opsets_takes_all_later_axes(tmp_path: Path) -> None:
    model = small([tiny.node("Softmax", ["x"], ["y"], axis=0, name="old")])
    model.opset_import[0].version = 11
    model.ir_version = 6
    assert first_row_moves(model)
    [one] = found(rule, model, tmp_path)
    assert one.node == 'Softmax "old"'
    del model.graph.node[0].attribute[:]  # the default is 1 there
    assert found(rule, model, tmp_path) == [] and not first_row_moves(model)
