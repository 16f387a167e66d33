from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper

from hotlap.model.counting import Count, count
from hotlap.model.light import bound, light, open_axes
from hotlap.model.shaped import shaped
from tests import tiny

node = helper.make_node
X = tiny.info("x", T.FLOAT, ["N", 4])
Y = tiny.info("y", T.FLOAT, None)


def counted(model: onnx.ModelProto, **sizes: int) -> Count:
    return count(shaped(bound(light(model), open_axes(model), sizes)).graph)


def model(nodes: list[onnx.NodeProto], **weights: Any) -> onnx.ModelProto:
    return tiny.model(nodes, [X], [Y], weights)


def test_every_node_reads_and_writes() -> None:
    found = counted(tiny.mlp(), batch=5)
    weights = 4 * (16 * 32 + 32 + 32 * 4 + 4)
    activations = 4 * 5 * (16 + 32 + 32 + 32 + 32 + 4)
    assert found == Count(5 * (16 * 32 + 32 * 4), weights + activations)


def test_views_move_nothing_and_tables_are_read_in_part() -> None:
    assert counted(model([node("Flatten", ["x"], ["y"])]), N=3).nbytes == 0
    table = np.ones((1000, 8), np.float32)
    ids = model([node("Gather", ["t", "x"], ["y"])], t=table)
    ids.graph.input[0].CopyFrom(tiny.info("x", T.INT64, ["N"]))
    rows = 3 * 8 * 4
    assert counted(ids, N=3).nbytes == rows + rows + 3 * 8  # read, written, the ids


def test_elements_of_four_bits_share_bytes() -> None:
    found = counted(tiny.identity(T.INT4, ["N"]), N=3)
    assert found.nbytes == 0
    nodes = [node("Transpose", ["x"], ["y"])]
    four = tiny.model(nodes, [tiny.info("x", T.INT4, ["N"])], [tiny.info("y", T.INT4, None)], opset=21)
    assert counted(four, N=3).nbytes == 4


def test_what_hangs_on_weights_and_sizes_alone_is_left_out() -> None:
    nodes = [
        node("Transpose", ["w"], ["t"]),
        node("Shape", ["x"], ["s"]),
        node("Mul", ["s", "two"], ["s2"]),
        node("MatMul", ["x", "t"], ["y"]),
    ]
    found = counted(model(nodes, w=np.ones((8, 4), np.float32), two=np.array(2)), N=3)
    assert found == Count(3 * 4 * 8, 4 * (3 * 4 + 4 * 8 + 3 * 8))


def test_a_quantised_weight_counts_as_it_is_stored() -> None:
    nodes = [node("DequantizeLinear", ["w", "scale"], ["d"]), node("MatMul", ["x", "d"], ["y"])]
    found = counted(model(nodes, w=np.ones((4, 8), np.int8), scale=np.float32(0.5)), N=3)
    assert found == Count(96, 4 * 3 * 4 + 4 * 8 + 4 * 3 * 8)


def branches(
    then: list[onnx.NodeProto], other: list[onnx.NodeProto], condition: list[Any]
) -> onnx.ModelProto:
    graphs = {
        name: helper.make_graph(nodes, name, [], [tiny.info(nodes[-1].output[0], T.FLOAT, None)])
        for name, nodes in (("then_branch", then), ("else_branch", other))
    }
    return model([*condition, node("If", ["c"], ["y"], **graphs)], w=np.ones((4, 8), np.float32))


BIG = [node("MatMul", ["x", "w"], ["p"]), node("Neg", ["p"], ["t"])]
ALIKE = [node("MatMul", ["x", "w"], ["q"]), node("Abs", ["q"], ["e"])]
SMALL = [node("Neg", ["x"], ["e"])]
BY_VALUE = [node("ReduceMax", ["x"], ["m"], keepdims=0), node("Cast", ["m"], ["c"], to=T.BOOL)]
BY_SIZE = [
    node("Size", ["x"], ["s"]),
    node("Cast", ["s"], ["c"], to=T.BOOL),
]


def test_the_branch_that_is_taken_counts() -> None:
    found = counted(branches(BIG, SMALL, BY_SIZE), N=3)
    assert found == Count(3 * 4 * 8, 4 * (3 * 4 + 4 * 8 + 3 * 8 + 2 * 3 * 8))


def test_a_branch_that_values_decide_is_unknown_unless_both_cost_the_same() -> None:
    found = counted(branches(BIG, SMALL, BY_VALUE), N=3)
    assert found.macs is None and found.nbytes is None
    assert found.why_macs == 'If "→ y": which branch it takes hangs on its inputs'
    assert counted(branches(BIG, ALIKE, BY_VALUE), N=3).macs == 3 * 4 * 8


def loop(trips: str, body_condition: list[onnx.NodeProto]) -> onnx.ModelProto:
    inner = [node("MatMul", ["v", "w"], ["v2"]), *body_condition]
    body = helper.make_graph(
        inner,
        "body",
        [tiny.info("i", T.INT64, []), tiny.info("go", T.BOOL, []), tiny.info("v", T.FLOAT, [3, 4])],
        [tiny.info("go2", T.BOOL, []), tiny.info("v2", T.FLOAT, None)],
    )
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "zero"], ["rows"]),
        node("ReduceMax", ["x"], ["m"], keepdims=0),
        node("Cast", ["m"], ["values"], to=T.INT64),
        node("Loop", [trips, "yes", "x"], ["y"], body=body),
    ]
    return model(nodes, w=np.ones((4, 4), np.float32), zero=np.array(0), yes=np.array(True))


def test_a_loop_counts_as_often_as_it_repeats() -> None:
    one = counted(loop("rows", [node("Identity", ["go"], ["go2"])]), N=3)
    assert one.macs == 3 * (3 * 4 * 4)
    decided = counted(loop("values", [node("Identity", ["go"], ["go2"])]), N=3)
    assert (decided.macs, decided.why_macs) == (None, 'Loop "→ y": how often it repeats hangs on its inputs')
    ended = counted(loop("rows", [node("Not", ["go"], ["go2"])]), N=3)
    assert ended.macs is None


def test_a_scan_counts_for_each_step() -> None:
    body = helper.make_graph(
        [node("MatMul", ["step", "w"], ["out"])],
        "body",
        [tiny.info("step", T.FLOAT, [4])],
        [tiny.info("out", T.FLOAT, None)],
    )
    found = counted(
        model([node("Scan", ["x"], ["y"], body=body, num_scan_inputs=1)], w=np.ones((4, 8), "f4")), N=7
    )
    assert found.macs == 7 * 32


@pytest.mark.parametrize("build", [tiny.unknown_operator, tiny.text, tiny.sequence])
def test_what_is_unknown_is_told_with_its_node(build: Any) -> None:
    made = build()
    made.graph.node[0].op_type = made.graph.node[0].op_type.replace("Identity", "Transpose")
    found = counted(made, N=3)
    assert found.nbytes is None and made.graph.node[0].op_type in found.why_bytes


def test_a_node_that_lacks_what_it_must_have_is_unknown() -> None:
    found = counted(model([node("Attention", ["x"], ["y"], domain="com.microsoft")]), N=3)
    assert (found.macs, found.why_macs) == (None, 'Attention "→ y": 2 axes where 3 are expected')


def test_an_operator_that_onnx_does_not_know_costs_what_nobody_knows() -> None:
    found = counted(model([node("Frobnicate", ["x"], ["y"], name="f")]), N=3)
    assert (found.macs, found.why_macs) == (None, 'Frobnicate "f": no rule counts it')
    assert counted(model([node("Neg", ["x"], ["y"])]), N=3).macs == 0
