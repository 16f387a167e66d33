from __future__ import annotations

import numpy as np
import pytest

from hotlap.inspect.fusions import layer_norm
from tests import tiny
from tests.inspect.fusions import graphs
from tests.inspect.fusions.graphs import kinds, look, ops

WHOLE = graphs.layer_norm()
STEP, TARGET = graphs.reshape("nrm", -1, 8)

BLOCKED = {
    "second reader": WHOLE.read("nrm"),
    "graph output in between": WHOLE.out("var"),
    "wrong dtype": WHOLE.of(np.float16),
    "shape operator in between": WHOLE.between("nrm", "n_sc", STEP, **TARGET),
}


@pytest.mark.parametrize("kind", BLOCKED)
def test_the_blocker_is_named(kind: str) -> None:
    found = look(layer_norm, BLOCKED[kind].model())
    assert kinds(found) == [kind]
    assert found[0].node.label == 'ReduceMean "n_mean"'


def test_an_epsilon_that_a_caller_may_replace_blocks() -> None:
    model = WHOLE.overridable("eps").model()
    # Older versions of ORT fuse it all the same, with the number that the file holds.
    wanted = [] if ops(model)["LayerNormalization"] else ["non-constant weight"]
    assert kinds(look(layer_norm, model)) == wanted


@pytest.mark.parametrize("opset", [9, 13, 16])
def test_without_a_blocker_it_is_fused_and_nothing_is_found(opset: int) -> None:
    assert ops(WHOLE.at(opset).model()) == {"LayerNormalization": 1}
    assert look(layer_norm, WHOLE.at(opset).model()) == []


@pytest.mark.parametrize("value", ["mean", "d", "sq", "var", "ve", "sd", "nrm", "sc"])
def test_any_inner_value_that_is_read_elsewhere_blocks(value: str) -> None:
    (found,) = look(layer_norm, WHOLE.read(value).model())
    assert found.blockers[0].why == f'Neg "other" reads "{value}" too'


@pytest.mark.parametrize("value", ["mean", "d", "sc"])
def test_a_half_fused_one_is_told_as_the_rest(value: str) -> None:
    assert ops(WHOLE.out(value).model())["SimplifiedLayerNormalization"] == 1
    (found,) = look(layer_norm, WHOLE.out(value).model())
    assert found.pattern == 'the rest of the layer normalisation from ReduceMean "n_mean" to Add "n_y"'
    assert (kinds([found]), found.steps) == (["graph output in between"], 4)


def test_one_in_parts_takes_nine_operators() -> None:
    (found,) = look(layer_norm, WHOLE.out("nrm").model())
    assert found.steps == 9
    assert found.pattern == 'the layer normalisation from ReduceMean "n_mean" to Add "n_y"'


def test_a_transpose_that_ort_itself_moves_in_is_told() -> None:
    turned = graphs.layer_norm("b", 8, "s").between(
        "x", "n_mean", tiny.node("Transpose", ["x"], ["x_"], perm=[0, 2, 1], name="turn")
    )
    turned = turned.changed("n_d", lambda n: tiny.node("Sub", ["x_", "mean"], ["d"], name="n_d"))
    assert ops(turned.model())["LayerNormalization"] == 0
    (found,) = look(layer_norm, turned.model())
    assert kinds([found]) == ["shape operator in between"]
    assert found.blockers[0].why == 'the Transpose that makes "d" stands in between'
    assert found.blockers[0].mend == "export with opset 17 or newer, which has the operator"


def test_the_square_of_a_product_is_another_pattern_and_not_told() -> None:
    squared = WHOLE.changed("n_sq", lambda n: tiny.node("Mul", ["d", "d"], ["sq"], name="n_sq"))
    assert ops(squared.model())["LayerNormalization"] == 0
    assert look(layer_norm, squared.model()) == []


@pytest.mark.parametrize("axes", [[1], [-2, -1]])
def test_other_axes_than_the_last_are_not_told(axes: list[int]) -> None:
    whole = WHOLE
    for name, source, made in (("n_mean", "x", "mean"), ("n_var", "sq", "var")):
        step = tiny.node("ReduceMean", [source], [made], name=name, axes=axes)
        whole = whole.changed(name, lambda n, step=step: step)
    assert ops(whole.model())["LayerNormalization"] == 0
    assert look(layer_norm, whole.out("nrm").model()) == []


def test_a_scale_of_two_axes_is_not_told() -> None:
    whole = graphs.layer_norm()
    whole.weights["g"] = graphs.normal(1, 8)
    assert ops(whole.model())["LayerNormalization"] == 0
    assert look(layer_norm, whole.out("nrm").model()) == []
