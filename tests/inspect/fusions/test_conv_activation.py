from __future__ import annotations

import pytest

from hotlap.inspect.fusions import conv_activation
from hotlap.inspect.fusions.conv_activation import ACTIVATIONS
from tests import tiny
from tests.inspect.fusions import graphs
from tests.inspect.fusions.graphs import kinds, look, ops

WHOLE = graphs.conv_activation()
STEP, TARGET = graphs.reshape("c", 0, 16, 64)

BLOCKED = {
    "second reader": WHOLE.read("c"),
    "graph output in between": WHOLE.out("c"),
    "non-constant weight": graphs.conv_clip().overridable("high"),
    "shape operator in between": WHOLE.between("c", "act", STEP, **TARGET),
}


@pytest.mark.parametrize("level", ["ALL", "EXTENDED"])
@pytest.mark.parametrize("kind", BLOCKED)
def test_the_blocker_is_named(kind: str, level: str) -> None:
    found = look(conv_activation, BLOCKED[kind].model(), level)
    assert kinds(found) == [kind]
    assert found[0].node.label == 'Conv "conv"'


@pytest.mark.parametrize("level", ["ALL", "EXTENDED"])
@pytest.mark.parametrize("op", ACTIVATIONS)
def test_each_activation_is_fused_where_nothing_blocks(op: str, level: str) -> None:
    whole = graphs.conv_clip() if op == "Clip" else graphs.conv_activation(op)
    assert ops(whole.model(), level)[f"Conv+{op}"] == 1
    assert look(conv_activation, whole.model(), level) == []
    assert kinds(look(conv_activation, whole.read("c").model(), level)) == ["second reader"]


def test_a_transpose_that_ort_joins_with_its_own_change_of_layout_is_told() -> None:
    turned = WHOLE.between("c", "act", tiny.node("Transpose", ["c"], ["c_"], perm=[0, 2, 3, 1], name="turn"))
    assert kinds(look(conv_activation, turned.model())) == ["shape operator in between"]


def test_what_blocks_is_named_with_node_and_value() -> None:
    (found,) = look(conv_activation, WHOLE.read("c").model())
    assert found.blockers[0].why == 'Neg "other" reads "c" too'
    assert (found.blockers[0].value, found.steps) == ("c", 2)
    (out,) = look(conv_activation, WHOLE.out("c").model())
    assert out.blockers[0].why == 'the graph gives "c" out'


def test_a_shape_that_is_read_has_a_remedy_of_its_own() -> None:
    (found,) = look(conv_activation, WHOLE.read("c", "Shape").model())
    assert found.blockers[0].mend == "let Shape read the fused result: its shape is the same"


def test_a_bias_that_is_folded_into_the_weights_hides_nothing() -> None:
    biased = WHOLE.between(
        "c", "act", tiny.node("Add", ["c", "m"], ["c_"], name="bias"), m=graphs.normal(16, 1, 1)
    )
    assert look(conv_activation, biased.model()) == []
    (found,) = look(conv_activation, biased.read("c_").model())
    assert found.node.label == 'Conv "conv"'
    assert found.blockers[0].why == 'Neg "other" reads "c_" too'


def test_an_output_under_another_name_is_told() -> None:
    named = WHOLE.out("seen")
    seen = tiny.node("Identity", ["c"], ["seen"])
    model = named.model()
    model.graph.node.append(seen)
    assert kinds(look(conv_activation, model)) == ["graph output in between"]


def test_a_gate_and_an_activation_without_a_fused_form_are_left_out() -> None:
    gate = graphs.conv(
        tiny.node("HardSigmoid", ["c"], ["s"], name="act"), tiny.node("Mul", ["c", "s"], ["y"], name="mul")
    )
    assert look(conv_activation, gate.model()) == []
    assert look(conv_activation, graphs.conv_activation("Elu").read("c").model()) == []


@pytest.mark.parametrize("level", ["ALL", "EXTENDED"])
def test_nodes_without_names_are_found_too(level: str) -> None:
    model = WHOLE.read("c").model()
    for step in model.graph.node:
        step.name = ""
    (found,) = look(conv_activation, model, level)
    assert found.pattern == 'Conv "→ c" and Relu "→ y"'
    assert found.blockers[0].why == 'Neg "→ read" reads "c" too'


def test_one_without_a_name_whose_value_never_leaves_the_blocked_layout_is_found_by_what_it_reads() -> None:
    then = tiny.node("Conv", ["r", "k2"], ["y"])
    whole = graphs.conv(tiny.node("Relu", ["c"], ["r"]), then, k2=graphs.normal(16, 16, 1, 1)).out("c")
    (found,) = look(conv_activation, whole.model())
    assert found.pattern == 'Conv "conv" and Relu "→ r"'
