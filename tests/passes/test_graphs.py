from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto as T

from hotlap.passes import graphs
from tests import tiny


def test_a_fresh_name_is_taken_from_then_on() -> None:
    taken = {"a"}
    assert [graphs.fresh(n, taken) for n in ("b", "a", "a")] == ["b", "a_1", "a_2"]


def test_renaming_follows_a_value_into_inner_graphs() -> None:
    model = tiny.branch()
    graphs.rename_values(model.graph, {"x": "new"})
    assert model.graph.input[0].name == "new"
    inner = [g for g in graphs.all_graphs(model.graph) if g is not model.graph]
    assert sorted(list(g.node[0].input) for g in inner) == [["new"], ["new", "new"]]
    onnx.checker.check_model(model, full_check=True)


def test_renaming_leaves_an_inner_value_of_the_same_name() -> None:
    model = tiny.branch()
    for graph in list(graphs.all_graphs(model.graph))[1:]:
        graph.node[0].output[0] = graph.output[0].name = "sum"  # another one than the outer "sum"
    graphs.rename_values(model.graph, {"sum": "total"})
    assert model.graph.node[0].output[0] == "total"
    assert [g.output[0].name for g in list(graphs.all_graphs(model.graph))[1:]] == ["sum", "sum"]


def test_values_in_the_way_get_other_names() -> None:
    model = tiny.branch()
    assert sorted(graphs.clear_the_way(model, ["t", "sum", "y"], ["y"])) == ["sum", "t"]
    assert model.graph.node[0].output[0] == "sum_1"
    assert model.graph.output[0].name == "y"
    onnx.checker.check_model(model, full_check=True)


def test_new_names_that_several_graphs_share_are_parted() -> None:
    model = tiny.branch()
    known = graphs.names(model)
    for graph in list(graphs.all_graphs(model.graph))[1:]:
        graph.node[0].output[0] = graph.output[0].name = "unfolded"
    graphs.part_names(model, known)
    made = [g.node[0].output[0] for g in list(graphs.all_graphs(model.graph))[1:]]
    assert sorted(made) == ["unfolded", "unfolded_1"]
    onnx.checker.check_model(model, full_check=True)


def test_a_sweep_removes_what_leads_nowhere_inside_too() -> None:
    model = tiny.branch()
    inner = list(graphs.all_graphs(model.graph))[1]
    inner.node.add(op_type="Neg", input=["x"], output=["dead"])
    model.graph.node.add(op_type="Neg", input=["y"], output=["dead_too"])
    model.graph.initializer.add(name="w", data_type=T.FLOAT, dims=[1], float_data=[1])
    assert graphs.sweep(model.graph) == (2, 1)
    assert graphs.sweep(model.graph) == (0, 0)
    assert {t.name for t in model.graph.initializer} == {"zero"}


def test_what_only_an_inner_graph_reads_is_alive() -> None:
    model = tiny.branch()
    model.graph.node.insert(0, onnx.helper.make_node("Abs", ["x"], ["a"]))
    list(graphs.all_graphs(model.graph))[1].node[0].input[0] = "a"
    assert graphs.sweep(model.graph) == (0, 0)


def test_unused_operator_sets_and_functions_go() -> None:
    model = tiny.zipmap()
    model.opset_import.add(domain="example.com", version=1)
    model.functions.add(name="f", domain="example.com")
    assert graphs.sweep_opsets(model) == ["example.com"]
    assert [o.domain for o in model.opset_import] == ["", "ai.onnx.ml"]
    assert not model.functions


def test_properties_are_replaced() -> None:
    model = tiny.add()
    graphs.set_property(model, "k", "1")
    graphs.set_property(model, "k", "2")
    assert [(e.key, e.value) for e in model.metadata_props] == [("k", "2")]


@pytest.mark.parametrize("make", [tiny.branch, tiny.mlp])
def test_all_names_are_found(make: object) -> None:
    model = make()  # type: ignore[operator]
    assert {"x", "y"} <= graphs.names(model)
