from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from onnx import TensorProto

from hotlap.inspect.fusions import attention
from hotlap.inspect.fusions.attention import _fixed
from hotlap.inspect.fusions.graph import Graph
from hotlap.model.walk import Walk
from tests import tiny
from tests.inspect.fusions import graphs
from tests.inspect.fusions.graphs import kinds, look, ops

WHOLE = graphs.attention()
STEP, TARGET = graphs.reshape("q1", 0, 0, 16)

BLOCKED = {
    "second reader": WHOLE.read("p"),
    "graph output in between": WHOLE.out("p"),
    "non-constant weight": WHOLE.asked("qw"),
    "shape operator in between": WHOLE.between("q1", "q_split", STEP, **TARGET),
    "opset too low": WHOLE.at(8),
    "opset too high": graphs.attention(opset=13),
    "written in another way": WHOLE.swapped("q_add"),
}


@pytest.mark.parametrize("kind", BLOCKED)
def test_the_blocker_is_named(kind: str) -> None:
    model = BLOCKED[kind].model()
    assert ops(model)["Attention"] == 0
    (found,) = look(attention, model)
    assert [b.kind for b in found.blockers] == [kind]
    assert found.node.label == 'Softmax "softmax"'


def test_a_mask_that_gets_both_its_axes_at_once_is_told() -> None:
    both = tiny.node("Unsqueeze", ["mask"], ["m2"], name="both", axes=[1, 2])
    nodes = tuple(both if "m1" in n.output else n for n in WHOLE.nodes if "m2" not in n.output)
    model = replace(WHOLE, nodes=nodes).model()
    assert ops(model)["Attention"] == 0
    (found,) = look(attention, model)
    assert found.blockers[0].why == (
        'Unsqueeze "both" gives the mask both its axes, where ORT looks for two of them'
    )


@pytest.mark.parametrize("opset", [9, 11, 12])
def test_without_a_blocker_it_is_fused_and_nothing_is_found(opset: int) -> None:
    assert ops(WHOLE.at(opset).model())["Attention"] == 1
    assert look(attention, WHOLE.at(opset).model()) == []


def test_nineteen_operators_run_where_one_would() -> None:
    (found,) = look(attention, WHOLE.at(8).model())
    assert found.steps == 19
    assert found.blockers[0].why == "the file is of opset 8, ORT looks for 9 to 12"


@pytest.mark.parametrize("value", ["v0", "v1", "masked", "p", "o", "x"])
def test_an_inner_value_that_is_read_elsewhere_blocks(value: str) -> None:
    (found,) = look(attention, WHOLE.read(value).model())
    assert found.blockers[0].why == f'Neg "other" reads "{value}" too'


@pytest.mark.parametrize("value", ["x", "o3", "m5"])
def test_values_at_the_edge_may_be_given_out(value: str) -> None:
    assert ops(WHOLE.out(value).model())["Attention"] == 1
    assert look(attention, WHOLE.out(value).model()) == []


@pytest.mark.parametrize("name", ["q_add", "o_add", "mask_add", "residual"])
def test_operands_the_other_way_round_are_told_with_the_node(name: str) -> None:
    (found,) = look(attention, WHOLE.swapped(name).model())
    assert found.blockers[0].why == f'Add "{name}" names its operands the other way round'


def test_a_softmax_that_counts_its_axis_from_the_end_is_told() -> None:
    softmax = tiny.node("Softmax", ["masked"], ["p"], axis=-1, name="softmax")
    (found,) = look(attention, WHOLE.changed("softmax", lambda n: softmax).model())
    assert found.blockers[0].why == "the softmax names its axis -1 where ORT looks for 3"


def test_several_blockers_are_all_told() -> None:
    (found,) = look(attention, graphs.attention(opset=13).swapped("k_add").out("p").model())
    assert [b.kind for b in found.blockers] == [
        "opset too high",
        "graph output in between",
        "written in another way",
    ]


def test_weights_that_are_computed_at_load_do_not_block() -> None:
    turned = WHOLE.between("qw", "q_matmul", tiny.node("Transpose", ["qw"], ["qw_"], perm=[1, 0]))
    assert ops(turned.model())["Attention"] == 1
    (found,) = look(attention, turned.out("p").model())
    assert [b.kind for b in found.blockers] == ["graph output in between"]


def test_other_attentions_are_not_told_since_ort_leaves_them_alone() -> None:
    scaled = WHOLE.changed("scale", lambda n: tiny.node("Mul", list(n.input), list(n.output), name="scale"))
    assert ops(scaled.model())["Attention"] == 0
    assert look(attention, scaled.model()) == []
    unmasked = WHOLE.changed("softmax", lambda n: tiny.node("Softmax", ["scaled"], ["p"], axis=3))
    assert ops(unmasked.model())["Attention"] == 0
    assert look(attention, unmasked.model()) == []
    assert kinds(look(attention, graphs.gelu().model())) == []


def test_weights_that_meet_again_and_again_are_followed_once() -> None:
    doubling = [tiny.node("Add", [f"v{n}", f"v{n}"], [f"v{n + 1}"]) for n in range(40)]
    weights = {"v0": np.ones(3, np.float32)}
    model = tiny.model(doubling, [], [tiny.info("v40", TensorProto.FLOAT, [3])], weights)
    graph = Graph(Walk(model))
    asked: list[str] = []
    maker = graph.maker
    graph.maker = lambda scope, value: asked.append(value) or maker(scope, value)  # type: ignore[method-assign,func-returns-value]
    assert _fixed(graph, graph.walk.root, "v40", {})
    assert len(asked) == 20
