from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from hotlap.inspect.rules import dead_branch
from tests import tiny
from tests.inspect.cases import found
from tests.inspect.runs import run


def on_constant(*before: onnx.NodeProto) -> onnx.ModelProto:
    """An `If` on the weight "c", or on what `before` makes of it."""
    built = tiny.branch()
    del built.graph.node[:2]
    built.graph.initializer.append(numpy_helper.from_array(np.array(True), "c"))
    built.graph.node[0].input[0] = before[-1].output[0] if before else "c"
    for node in reversed(before):
        built.graph.node.insert(0, node)
    return built


def test_a_constant_condition_is_found(tmp_path: Path) -> None:
    (finding,) = found(dead_branch, on_constant(), tmp_path)
    assert (finding.severity, finding.node, finding.tensor) == ("warning", 'If "→ y"', "c")
    assert finding.cost == "2 nodes in both branches, sorted out again at each load"


def test_what_follows_from_constants_is_constant(tmp_path: Path) -> None:
    built = on_constant(tiny.node("Not", ["c"], ["n"]), tiny.node("Identity", ["n"], ["m"]))
    assert found(dead_branch, built, tmp_path)[0].tensor == "m"


def test_a_condition_that_a_caller_can_replace_is_none(tmp_path: Path) -> None:
    built = on_constant()
    built.graph.input.append(tiny.info("c", T.BOOL, []))
    assert found(dead_branch, built, tmp_path) == []


def test_chance_and_what_is_computed_are_none(tmp_path: Path) -> None:
    assert found(dead_branch, tiny.branch(), tmp_path) == []
    drawn = [tiny.node("Cast", ["c"], ["f"], to=T.FLOAT), tiny.node("Bernoulli", ["f"], ["b"], dtype=T.BOOL)]
    assert found(dead_branch, on_constant(*drawn), tmp_path) == []


def test_a_circle_of_nodes_ends(tmp_path: Path) -> None:
    built = on_constant(tiny.node("And", ["c", "m"], ["n"]), tiny.node("Not", ["n"], ["m"]))
    assert found(dead_branch, built, tmp_path) == []


def test_constants_that_meet_again_and_again_are_followed_once(tmp_path: Path) -> None:
    doubling = [tiny.node("And", [f"c{n}", f"c{n}"], [f"c{n + 1}"]) for n in range(40)]
    built = on_constant(tiny.node("Identity", ["c"], ["c0"]), *doubling)
    assert len(found(dead_branch, built, tmp_path)) == 1


@pytest.mark.parametrize("between", [None, "Not", "Cast"])
def test_what_each_call_of_a_function_says_is_no_constant(tmp_path: Path, between: str | None) -> None:
    flag = tiny.node("Constant", [], ["flag"])
    flag.attribute.add(name="value_int", ref_attr_name="flag", type=onnx.AttributeProto.INT)
    branches = tiny.branch().graph.node[-1]
    branches.input[0] = "c"
    body = [flag, tiny.node("Cast", ["flag"], ["c"], to=T.BOOL), branches]
    if between == "Cast":  # the cast itself is the caller's
        body = [tiny.node("Constant", [], ["n"], value_int=1), tiny.node("Cast", ["n"], ["c"]), branches]
        body[1].attribute.add(name="to", ref_attr_name="flag", type=onnx.AttributeProto.INT)
    elif between:
        body[1:2] = [tiny.node("Cast", ["flag"], ["b"], to=T.BOOL), tiny.node(between, ["b"], ["c"])]
    function = helper.make_function(
        "own", "f", ["x"], list(branches.output), body, [helper.make_opsetid("", 17)], ["flag"]
    )
    flags = (T.BOOL, T.BOOL) if between == "Cast" else (0, 1)
    built = tiny.model(
        [tiny.node("f", ["x"], [f"y{n}"], domain="own", flag=v) for n, v in enumerate(flags)],
        [tiny.info("x", T.FLOAT, ["N"])],
        [tiny.info(f"y{n}", T.FLOAT, None) for n in (0, 1)],
    )
    built.functions.append(function)
    built.opset_import.append(helper.make_opsetid("own", 1))
    one, other = run(built, x=np.array([1.0, 2.0], np.float32))
    assert (one.tolist() == other.tolist()) is (between == "Cast")
    assert found(dead_branch, built, tmp_path) == []
