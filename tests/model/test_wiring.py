"""Node by node: what differs, and what is only written otherwise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from hotlap.model.walk import Walk
from hotlap.model.wiring import node_changes
from tests import tiny

Told = list[tuple[str, str, str | None, str | None]]


def changes(a: onnx.ModelProto, b: onnx.ModelProto, renamed: dict[str, str] | None = None) -> Told:
    found = node_changes(Walk(a), Walk(b), renamed or {})
    return [(node.label, what, before, after) for node, what, before, after in found]


def of(*nodes: onnx.NodeProto, outputs: tuple[str, ...] = ("y",)) -> onnx.ModelProto:
    """p, q: float32[n, 4] → outputs."""
    inputs = [tiny.info(name, T.FLOAT, ["n", 4]) for name in ("p", "q")]
    return tiny.model(list(nodes), inputs, [tiny.info(o, T.FLOAT, ["n", 4]) for o in outputs])


def leaky(alpha: float) -> onnx.ModelProto:
    return of(helper.make_node("LeakyRelu", ["p"], ["y"], name="x", alpha=alpha))


def test_an_attribute() -> None:
    assert changes(leaky(0.01), leaky(0.5)) == [('LeakyRelu "x"', "alpha", "0.01", "0.5")]
    assert changes(leaky(0.01), leaky(0.01)) == []
    unset = of(helper.make_node("LeakyRelu", ["p"], ["y"], name="x"))
    assert changes(unset, leaky(0.5)) == [('LeakyRelu "x"', "alpha", None, "0.5")]
    pads = [of(helper.make_node("AveragePool", ["p"], ["y"], "x", pads=[0, n])) for n in (0, 1)]
    assert changes(*pads) == [('AveragePool "x"', "pads", "[0, 0]", "[0, 1]")]


def test_an_attribute_too_long_to_be_told_and_a_tensor() -> None:
    long = [of(helper.make_node("Odd", ["p"], ["y"], "x", s=[0] * 99 + [n])) for n in (0, 1)]
    ((_, what, before, after),) = changes(*long)
    assert what == "s" and before is not None and after == f"another {before}"
    made = [
        of(
            helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.float32(n), f"t{n}")),
            helper.make_node("Add", ["p", "c"], ["y"]),
        )
        for n in (0, 0, 1)
    ]
    made[1].graph.node[0].attribute[0].t.name = "other"
    assert changes(made[0], made[1]) == []
    assert [c[:2] for c in changes(made[0], made[2])] == [('Constant "→ c"', "value")]


def test_operands_in_another_order() -> None:
    ours, theirs = (of(tiny.node("Sub", names, ["y"])) for names in (["p", "q"], ["q", "p"]))
    assert changes(ours, theirs) == [
        ('Sub "→ y"', "input 0", "p", "q"),
        ('Sub "→ y"', "input 1", "q", "p"),
    ]


def chain(names: list[str], *, swapped: bool = False) -> onnx.ModelProto:
    one, two = names
    nodes = [tiny.node("Neg", ["p"], [one]), tiny.node("Abs", ["q"], [two])]
    return of(*nodes[:: -1 if swapped else 1], tiny.node("Sub", [one, two], ["y"]))


def test_names_and_order_do_not_count() -> None:
    assert changes(chain(["a", "b"]), chain(["c", "d"])) == []
    assert changes(chain(["a", "b"]), chain(["b", "a"], swapped=True)) == []


def test_a_change_is_told_where_it_is_and_not_at_all_that_follows() -> None:
    ours, theirs = chain(["a", "b"]), chain(["c", "d"])
    theirs.graph.node[0].input[0] = "q"
    assert changes(ours, theirs) == [('Neg "→ a"', "input 0", "p", "q")]


def test_outputs_that_change_places() -> None:
    def made(first: str, second: str) -> onnx.ModelProto:
        nodes = tiny.node("Neg", ["p"], [first]), tiny.node("Abs", ["p"], [second])
        return of(*nodes, outputs=("y", "z"))

    assert changes(made("y", "z"), made("z", "y")) == [
        ('Neg "→ y"', 'output "y"', 'Neg "→ y"', 'Abs "→ y"'),
        ('Abs "→ z"', 'output "z"', 'Abs "→ z"', 'Neg "→ z"'),
    ]


def test_nodes_that_came_and_went() -> None:
    ours = of(tiny.node("Neg", ["p"], ["y"]))
    theirs = of(tiny.node("Abs", ["p"], ["h"]), tiny.node("Neg", ["h"], ["y"]))
    assert changes(ours, theirs) == [
        ('Neg "→ y"', "input 0", "p", "h"),
        ('Abs "→ h"', "", None, "Abs"),
    ]


def test_inner_graphs() -> None:
    ours, theirs = tiny.branch(), tiny.branch()
    inside = theirs.graph.node[2].attribute[0].g.node[0]
    inside.attribute.add(name="odd", type=onnx.AttributeProto.INT, i=3)
    ((label, what, before, after),) = changes(ours, theirs)
    assert "_branch / " in label and (what, before, after) == ("odd", None, "3")
    assert changes(ours, tiny.branch()) == []


def test_functions() -> None:
    def made(op: str, **attributes: float) -> onnx.ModelProto:
        body = [helper.make_node(op, ["a"], ["b"], **attributes)]
        model = of(tiny.node("f", ["p"], ["y"], domain="own"))
        opsets = [helper.make_opsetid("", 17)]
        model.functions.append(helper.make_function("own", "f", ["a"], ["b"], body, opsets))
        return model

    assert changes(made("Elu", alpha=1.0), made("Elu", alpha=1.0)) == []
    assert changes(made("Elu", alpha=1.0), made("Elu", alpha=2.0)) == [
        ('function f / Elu "→ b"', "alpha", "1.0", "2.0")
    ]


def test_weights_by_name_and_by_their_new_name() -> None:
    ours, theirs = tiny.mlp(), tiny.mlp()
    next(t for t in theirs.graph.initializer if t.name == "w1").name = "first"
    theirs.graph.node[0].input[1] = "first"
    assert changes(ours, theirs, {"w1": "first"}) == []
    assert [c[1:] for c in changes(ours, theirs)] == [("input 1", "w1", "first")]


@pytest.mark.parametrize("make", [tiny.mlp, tiny.branch, tiny.text, tiny.two_outputs])
def test_a_model_does_not_differ_from_itself(make: Callable[[], onnx.ModelProto]) -> None:
    assert changes(make(), make()) == []


def test_a_cycle_and_unknown_names_are_compared_all_the_same() -> None:
    ours, theirs = (of(tiny.node("Neg", [n], ["h"]), tiny.node("Abs", ["h"], ["y"])) for n in ("y", "no"))
    assert changes(ours, ours) == []
    assert ('Neg "→ h"', "input 0", "y", "no") in changes(ours, theirs)


def test_one_name_for_another_value_is_told_by_what_makes_it() -> None:
    ours, theirs = chain(["a", "b"]), chain(["a", "b"])
    theirs.graph.node[0].op_type = "Exp"
    assert ('Sub "→ y"', "input 0", 'Neg "→ a"', 'Exp "→ a"') in changes(ours, theirs)
    del theirs.graph.node[0]
    theirs.graph.initializer.append(numpy_helper.from_array(np.zeros(4, np.float32), "a"))
    assert ('Sub "→ y"', "input 0", 'Neg "→ a"', 'weight "a"') in changes(ours, theirs)
    theirs.graph.initializer.pop()
    assert ('Sub "→ y"', "input 0", 'Neg "→ a"', '"a", which nothing makes') in changes(ours, theirs)
