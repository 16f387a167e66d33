from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from hotlap.inspect.rules import unused_output
from tests import tiny
from tests.inspect.cases import found


def with_dead_end() -> onnx.ModelProto:
    built = tiny.mlp()
    built.graph.node.extend([tiny.node("Neg", ["h"], ["n"], name="neg"), tiny.node("Exp", ["n"], ["e"])])
    return built


def test_nodes_that_lead_nowhere_are_found_together(tmp_path: Path) -> None:
    (finding,) = found(unused_output, with_dead_end(), tmp_path)
    assert (finding.severity, finding.node) == ("warning", 'Neg "neg"')
    assert finding.message == '2 nodes lead to no output: Neg "neg", Exp "→ e"'
    assert finding.cost == "2 of 5 nodes, run on every call"
    assert finding.fix == "hotlap optimize MODEL --fix HL407 -o OUT.onnx"


def test_an_optional_output_for_nobody_is_told(tmp_path: Path) -> None:
    shape = [1, 1, 4, 4]
    pool = tiny.node("MaxPool", ["x"], ["y", "where"], kernel_shape=[2, 2])
    built = tiny.model([pool], [tiny.info("x", T.FLOAT, shape)], [tiny.info("y", T.FLOAT, None)])
    (finding,) = found(unused_output, built, tmp_path)
    assert (finding.severity, finding.tensor) == ("info", "where")
    assert finding.message == "MaxPool makes an optional output that nobody reads (1 node)"


def test_an_output_that_the_operator_always_has_is_none(tmp_path: Path) -> None:
    top = tiny.node("TopK", ["x", "k"], ["values", "y"])
    built = tiny.model(
        [top], [tiny.info("x", T.FLOAT, ["N", 4])], [tiny.info("y", T.INT64, None)], {"k": [2]}
    )
    assert found(unused_output, built, tmp_path) == []


def test_a_value_that_only_an_inner_graph_reads_is_read(tmp_path: Path) -> None:
    built = tiny.branch()
    built.graph.node.insert(0, tiny.node("Neg", ["x"], ["minus"]))
    built.graph.node[-1].attribute[0].g.node[0].input[0] = "minus"
    assert found(unused_output, built, tmp_path) == []


def test_nodes_inside_of_functions_count(tmp_path: Path) -> None:
    body = [tiny.node("Neg", ["a"], ["b"]), tiny.node("Exp", ["a"], ["dead"])]
    built = tiny.unknown_operator()
    built.functions.append(
        helper.make_function(
            "example.com", "NoSuchOperator", ["a"], ["b"], body, [helper.make_opsetid("", 17)]
        )
    )
    (finding,) = found(unused_output, built, tmp_path)
    assert finding.node == 'function NoSuchOperator / Exp "→ dead"'


def test_constants_and_used_nodes_are_none(tmp_path: Path) -> None:
    built = tiny.mlp()
    built.graph.node.append(tiny.node("Constant", [], ["c"], value_float=1.0))
    assert found(unused_output, built, tmp_path) == []


def test_a_long_dead_end_is_found_whole_in_any_order(tmp_path: Path) -> None:
    chain = [tiny.node("Neg", [f"d{n}"], [f"d{n + 1}"]) for n in range(300)]
    built = tiny.mlp()
    built.graph.node.extend([*chain, tiny.node("Neg", ["h"], ["d0"])])
    (finding,) = found(unused_output, built, tmp_path)
    assert finding.cost == "301 of 304 nodes, run on every call"


def test_weights_that_nobody_reads_are_found_together(tmp_path: Path) -> None:
    built = tiny.mlp()
    for name, size in {"dead": 3, "gone": 4, "input": 5}.items():
        built.graph.initializer.append(numpy_helper.from_array(np.zeros(size, np.float32), name))
    (finding,) = found(unused_output, made(built, "input"), tmp_path)
    assert (finding.severity, finding.tensor) == ("info", "dead")
    assert finding.message == "2 weights are read by nobody: dead, gone"
    assert finding.cost == "28 bytes of the file"
    assert finding.fix == unused_output.RULE.mend


def test_a_weight_that_is_an_output_or_read_inside_is_used(tmp_path: Path) -> None:
    built = tiny.branch()
    for name in ("out", "inner", "dead"):
        built.graph.initializer.append(numpy_helper.from_array(np.zeros(3, np.float32), name))
    built.graph.output.append(tiny.info("out", T.FLOAT, [3]))
    built.graph.node[2].attribute[0].g.node[0].input[0] = "inner"
    (finding,) = found(unused_output, built, tmp_path)
    assert finding.message == "1 weight is read by nobody: dead"


def made(built: onnx.ModelProto, name: str) -> onnx.ModelProto:
    """With a weight among the inputs, which is what the caller may give."""
    built.graph.input.append(tiny.info(name, T.FLOAT, [5]))
    return built


def test_an_operator_in_a_function_is_read_by_what_the_function_imports(tmp_path: Path) -> None:
    body = [tiny.node("Dropout", ["a"], ["b", "mask"])]
    built = tiny.unknown_operator()
    built.functions.append(
        helper.make_function(
            "example.com", "NoSuchOperator", ["a"], ["b"], body, [helper.make_opsetid("", 17)]
        )
    )
    del built.opset_import[0]
    (finding,) = found(unused_output, built, tmp_path)
    assert finding.tensor == "mask"


def test_weights_of_two_nodes_with_one_name_are_told_apart(tmp_path: Path) -> None:
    built = tiny.branch()
    built.graph.node[-1].name = "if"
    again = built.graph.node.add()
    again.CopyFrom(built.graph.node[-2])
    again.output[0] = "z"
    built.graph.output.append(tiny.info("z", T.FLOAT, ["N"]))
    for node, read in zip(built.graph.node[-2:], (True, False), strict=True):
        graph = node.attribute[0].g
        graph.initializer.append(numpy_helper.from_array(np.zeros(1 + read, np.float32), "w"))
        if read:
            graph.node[0].input[0] = "w"
    (finding,) = found(unused_output, built, tmp_path)
    assert finding.cost == "4 bytes of the file"
