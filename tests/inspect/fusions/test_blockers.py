from __future__ import annotations

import numpy as np

from hotlap.inspect.fusions.blockers import along, not_constant, wrong_dtype
from hotlap.inspect.fusions.graph import Graph
from hotlap.inspect.fusions.pattern import Link, before
from hotlap.model.walk import Walk
from tests import tiny
from tests.inspect.fusions import graphs
from tests.inspect.fusions.graphs import Parts


def chain(parts: Parts) -> tuple[Graph, Link]:
    """The way from a MatMul to its Add, in the file's own graph."""
    graph = Graph(Walk(parts.model()))
    link = before(graph, next(graph.nodes("Add")), 0, ("MatMul",))
    assert link is not None
    return graph, link


def told(parts: Parts, **options: tuple[str, ...]) -> list[str]:
    graph, link = chain(parts)
    return [f"{b.kind}: {b.why}" for b in along(graph, [link], **options)]


def test_nothing_blocks_a_value_that_only_its_pattern_reads() -> None:
    assert told(graphs.matmul_add()) == []


def test_they_come_in_the_order_of_the_data() -> None:
    step, target = graphs.reshape("h", -1, 16)
    parts = graphs.matmul_add().between("h", "add", step, **target).out("h").read("h_")
    assert told(parts) == [
        'graph output in between: the graph gives "h" out',
        'shape operator in between: Reshape "reshape_h" stands in between',
        'second reader: Neg "other" reads "h_" too',
    ]


def test_several_readers_are_counted() -> None:
    parts = graphs.matmul_add().read("h")
    more = Parts(
        (*parts.nodes, tiny.node("Exp", ["h"], ["e"], name="exp")),
        parts.weights,
        parts.inputs,
        (*parts.outputs, "e"),
    )
    assert told(more) == ['second reader: Neg "other" and 1 more read "h" too']


def test_readers_that_do_no_harm_are_left_out() -> None:
    assert told(graphs.matmul_add().read("h", "Shape"), besides=("Shape",)) == []


def test_an_output_under_another_name_is_told_with_it() -> None:
    parts = graphs.matmul_add()
    named = Parts(
        (*parts.nodes, tiny.node("Identity", ["h"], ["seen"])), parts.weights, parts.inputs, ("y", "seen")
    )
    assert told(named) == ['graph output in between: the graph gives "h" out under the name "seen"']


def test_weights_that_may_change_are_told_apart() -> None:
    parts = graphs.matmul_add().overridable("w").asked("b")
    graph, link = chain(parts)
    found = list(not_constant(graph, link.made.scope, ["w", "b", "h", "", "x"]))
    assert [b.why for b in found] == [
        '"w" is a weight and an input, so a caller may replace it',
        '"b" is an input',
        '"h" is computed by MatMul "matmul"',
        '"x" is an input',
    ]
    assert [bool(b.mend) for b in found] == [True, False, False, False]
    plain, link = chain(graphs.matmul_add())
    assert list(not_constant(plain, link.made.scope, ["w", "b"])) == []


def test_types() -> None:
    graph, link = chain(graphs.matmul_add().of(np.float64))
    assert list(wrong_dtype([link.made], "float32", ("float32",))) == []
    assert list(wrong_dtype([link.made], "", ("float32",))) == []
    (found,) = wrong_dtype([link.made], "float64", ("float32", "float16"))
    assert found.why == "it is float64, the fused operator takes float32 or float16"
    assert graph.is_output(link.made) == ""
