from __future__ import annotations

import onnx
from onnx import TensorProto as T
from onnx import helper

from hotlap.model.walk import Walk
from hotlap.verify.matching import in_order, paired
from tests import tiny


def test_what_is_inside_of_a_node_comes_before_it() -> None:
    order = [n.op for n in in_order(Walk(tiny.branch()))]
    assert order == ["ReduceSum", "Greater", "Neg", "Add", "If"]


def test_graphs_without_a_way_out_are_left_out() -> None:
    model = tiny.branch()
    function = helper.make_function(
        "own", "f", ["a"], ["b"], [tiny.node("Neg", ["a"], ["b"])], [helper.make_opsetid("", 17)]
    )
    model.functions.append(function)
    assert len(list(in_order(Walk(model)))) == 5


def test_values_are_paired_by_name_where_enough_of_them_have_one() -> None:
    before, after = tiny.branch(), tiny.branch()
    after.graph.node[2].name = "renamed"  # so the path of the branches is another
    del after.graph.node[0]
    pairs, by = paired(Walk(before), Walk(after))
    assert by == "name"
    assert [p.value for p in pairs] == ["positive", "e", "t", "y"]
    assert pairs[1].at[0] != pairs[1].other_at[0]


def renamed(model: onnx.ModelProto) -> onnx.ModelProto:
    for node in model.graph.node:
        for names in (node.input, node.output):
            names[:] = [
                f"n_{name}" if name not in ("x", "y") and name[0] not in "wb" else name for name in names
            ]
    return model


def test_else_they_are_paired_by_their_place() -> None:
    after = renamed(tiny.mlp())
    after.graph.node.insert(1, tiny.node("Identity", ["n_h"], ["n_copy"]))
    pairs, by = paired(Walk(tiny.mlp()), Walk(after))
    assert by == "position"
    assert [(p.value, p.other) for p in pairs] == [("h", "n_h"), ("r", "n_r"), ("y", "y")]


def test_models_without_anything_in_common_have_no_pair() -> None:
    other = tiny.model(
        [tiny.node("Neg", ["x"], ["z"])], [tiny.info("x", T.FLOAT, [1])], [tiny.info("z", T.FLOAT, [1])]
    )
    assert paired(Walk(tiny.mlp()), Walk(other))[0] == []
