from __future__ import annotations

import numpy as np

from hotlap.inspect.fusions.graph import FUSED_CONV, Graph
from hotlap.model.walk import Walk
from tests import tiny
from tests.inspect.fusions import graphs
from tests.inspect.fusions.graphs import Parts, executed
from tests.tiny import T, info, node


def graph_of(parts: Parts) -> Graph:
    model = parts.model()
    return Graph(Walk(executed(model)), Walk(model))


def nchwc(*, value: str, name: str, inputs: tuple[str, ...] = ("x", "k"), **attributes: object) -> Graph:
    """One blocked convolution, as ORT saves it on hosts that block."""
    step = node("Conv", list(inputs), ["reorder"], name=name, domain="com.microsoft.nchwc", **attributes)
    out = node("ReorderOutput", ["reorder"], [value], domain="com.microsoft.nchwc", channels=16)
    model = tiny.model(
        [step, out], [info(i, T.FLOAT, None) for i in inputs], [info(value, T.FLOAT, None)], {"z": np.ones(1)}
    )
    return Graph(Walk(model))


def test_nodes_that_pass_a_value_on_are_looked_through() -> None:
    model = tiny.model(
        [
            node("Relu", ["x"], ["a"], name="relu"),
            node("Identity", ["a"], ["b"]),
            node("Identity", ["b"], ["c"]),
            node("Neg", ["c"], ["y"], name="neg"),
        ],
        [info("x", T.FLOAT, ["n"])],
        [info("y", T.FLOAT, None), info("b", T.FLOAT, None)],
    )
    graph = Graph(Walk(model))
    relu, neg = graph.steps
    assert (relu.op, neg.op, neg.inputs) == ("Relu", "Neg", ("a",))
    assert graph.maker(neg.scope, "c") is relu
    assert graph.readers(relu) == [neg]
    assert graph.is_output(relu) == "b"
    assert graph.maker(neg.scope, "x") is None


def test_a_blocked_convolution_is_a_conv_that_makes_the_files_value() -> None:
    (step,) = nchwc(value="c", name="c_nchwc").steps
    assert (step.op, step.value, step.output) == ("Conv", "c", "reorder")


def test_what_ort_renamed_is_told_by_what_it_makes() -> None:
    blocked = nchwc(value="c", name="c_nchwc").walk
    file = tiny.model(
        [node("Conv", ["x", "k"], ["c"], name="conv")],
        [info("x", T.FLOAT, None)],
        [info("c", T.FLOAT, None)],
    )
    (step,) = Graph(blocked, Walk(file)).steps
    assert step.label == 'the Conv that makes "c"'


def test_one_with_an_activation_or_a_sum_is_no_plain_conv() -> None:
    (acting,) = nchwc(value="y", name="y_nchwc", activation="Relu").steps
    (summing,) = nchwc(value="y", name="y_nchwc", inputs=("x", "k", "", "z")).steps
    assert acting.op == summing.op == FUSED_CONV


def test_one_that_stands_for_a_normalisation_or_a_product_is_told_as_that() -> None:
    (norm,) = nchwc(value="y", name="y_bn_nchwc").steps
    (mul,) = nchwc(value="y", name="y_mul_nchwc").steps
    assert (norm.op, norm.value) == ("BatchNormalization", "y")
    assert (mul.op, mul.value) == ("Mul", "y")


def test_a_value_that_happens_to_end_like_that_is_a_conv() -> None:
    (step,) = nchwc(value="layer_bn", name="layer_bn_nchwc").steps
    assert (step.op, step.value) == ("Conv", "layer_bn")


def test_a_change_of_layout_that_took_a_transpose_in_is_a_transpose() -> None:
    turned = graphs.conv_activation().between(
        "c", "act", node("Transpose", ["c"], ["c_"], perm=[0, 2, 3, 1], name="turn")
    )
    found = graph_of(turned)
    assert [s.op for s in found.steps] == ["Conv", "Transpose", "Relu"]


def test_half_precision_that_is_computed_in_float32_is_marked() -> None:
    found = graph_of(graphs.gelu().of(np.float16))
    assert {s.half for s in found.nodes("Erf", "Div")} == {True}
    assert next(found.nodes("Erf")).value == "e"
    assert not any(s.half for s in graph_of(graphs.gelu().out("e")).steps)


def test_what_is_no_node_of_the_file_says_so() -> None:
    fixed = graph_of(graphs.matmul_add(2, 4, 8))
    labels = {s.op: s.label for s in fixed.steps}
    assert labels["Reshape"] == 'the Reshape that makes "y"'
    gemm = next(fixed.nodes("Gemm"))
    assert gemm.label == "a Gemm of the executed graph"
