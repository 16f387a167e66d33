from __future__ import annotations

import numpy as np
import pytest

from hotlap.inspect.fusions import matmul_add
from tests import tiny
from tests.inspect.fusions import graphs
from tests.inspect.fusions.graphs import kinds, look, ops

WHOLE = graphs.matmul_add()
STEP, TARGET = graphs.reshape("h", -1, 4, 16)


def loose_width() -> graphs.Parts:
    asked = WHOLE.asked("w")
    asked.inputs["w"] = (8, "m")
    return asked


BLOCKED = {
    "second reader": WHOLE.read("h"),
    "graph output in between": WHOLE.out("h"),
    "non-constant weight": loose_width(),
    "wrong dtype": WHOLE.of(np.float64),
    "shape operator in between": WHOLE.between("h", "add", STEP, **TARGET),
}


@pytest.mark.parametrize("kind", BLOCKED)
def test_the_blocker_is_named(kind: str) -> None:
    found = look(matmul_add, BLOCKED[kind].model())
    assert kinds(found) == [kind]
    assert found[0].pattern == 'MatMul "matmul" and Add "add"'


@pytest.mark.parametrize("shape", [("n", 8), (2, 4, 8)])
def test_without_a_blocker_it_is_fused_and_nothing_is_found(shape: tuple[int | str, ...]) -> None:
    whole = graphs.matmul_add(*shape)
    assert ops(whole.model())["Gemm"] == 1
    assert look(matmul_add, whole.model()) == []


def test_the_bias_may_come_first() -> None:
    assert look(matmul_add, WHOLE.swapped("add").model()) == []
    assert kinds(look(matmul_add, WHOLE.swapped("add").out("h").model())) == ["graph output in between"]


def test_half_precision_is_fused() -> None:
    assert look(matmul_add, WHOLE.of(np.float16).model()) == []


@pytest.mark.parametrize("shape", [("n", "s", 8), ("n", 4, 8)])
def test_rows_of_open_sizes_are_not_told_since_ort_leaves_them_alone(shape: tuple[int | str, ...]) -> None:
    assert ops(graphs.matmul_add(*shape).model())["Gemm"] == 0
    assert look(matmul_add, graphs.matmul_add(*shape).out("h").model()) == []


@pytest.mark.parametrize(
    "bias", [np.float32(2) + 0 * graphs.normal(), graphs.normal(1), graphs.normal(1, 1, 16)]
)
def test_a_bias_that_gemm_does_not_take_is_not_told(bias: np.ndarray) -> None:
    whole = graphs.matmul_add()
    whole.weights["b"] = bias
    assert ops(whole.model())["Gemm"] == 0
    assert look(matmul_add, whole.out("h").model()) == []


def test_a_shape_operator_that_changes_the_columns_is_not_told() -> None:
    step, target = graphs.reshape("h", -1, 8, 16)
    turned = graphs.matmul_add()
    turned.weights["b"] = graphs.normal(16)
    assert kinds(look(matmul_add, turned.between("h", "add", step, **target).model())) == [
        "shape operator in between"
    ]
    split, target = graphs.reshape("h", -1, 16, 1)
    assert look(matmul_add, WHOLE.between("h", "add", split, **target).model()) == []


def test_a_product_that_is_added_to_itself_is_not_told() -> None:
    doubled = WHOLE.changed("add", lambda n: tiny.node("Add", ["h", "h"], ["y"], name="add"))
    assert look(matmul_add, doubled.model()) == []


def test_an_inner_graph_is_looked_into() -> None:
    inner = tiny.helper.make_graph(
        [
            tiny.node("MatMul", ["x", "w"], ["h"], name="matmul"),
            tiny.node("Add", ["h", "b"], ["t"], name="add"),
            tiny.node("Neg", ["h"], ["u"], name="other"),
        ],
        "then",
        [],
        [tiny.info("t", tiny.T.FLOAT, None), tiny.info("u", tiny.T.FLOAT, None)],
    )
    other = tiny.helper.make_graph(
        [tiny.node("MatMul", ["x", "w"], ["t"]), tiny.node("Exp", ["t"], ["u"])],
        "else",
        [],
        [tiny.info("t", tiny.T.FLOAT, None), tiny.info("u", tiny.T.FLOAT, None)],
    )
    model = tiny.model(
        [tiny.node("If", ["yes"], ["y", "z"], name="if", then_branch=inner, else_branch=other)],
        [tiny.info("x", tiny.T.FLOAT, ["n", 8]), tiny.info("yes", tiny.T.BOOL, [])],
        [tiny.info("y", tiny.T.FLOAT, None), tiny.info("z", tiny.T.FLOAT, None)],
        {"w": graphs.normal(8, 16), "b": graphs.normal(16)},
    )
    (found,) = look(matmul_add, model)
    assert found.node.label == 'If "if" / then_branch / MatMul "matmul"'
    assert kinds([found]) == ["second reader"]
