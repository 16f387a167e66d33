from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper

from hotlap.inspect.case import Ran
from hotlap.inspect.rules import unknown_operator
from tests import tiny
from tests.inspect.cases import found
from tests.inspect.runs import run


def test_a_domain_that_nobody_knows_is_an_error(tmp_path: Path) -> None:
    (finding,) = found(unknown_operator, tiny.unknown_operator(), tmp_path)
    assert finding.severity == "error"
    assert (
        finding.message == "example.com.NoSuchOperator: of a domain that neither ONNX nor ONNX Runtime knows"
    )
    assert finding.node == 'example.com.NoSuchOperator "→ y"'
    assert "custom operators" in finding.fix


def test_an_operator_that_onnx_does_not_have(tmp_path: Path) -> None:
    built = tiny.add()
    built.graph.node[0].op_type = "Addd"
    (finding,) = found(unknown_operator, built, tmp_path)
    assert finding.message == "Addd: ONNX has no such operator at opset 17"


def test_an_operator_that_came_later_or_went_earlier(tmp_path: Path) -> None:
    shape = [1, 1, 4, 4]
    inputs, outputs = [tiny.info("x", T.FLOAT, shape)], [tiny.info("y", T.FLOAT, shape)]
    later = tiny.model([tiny.node("Gelu", ["x"], ["y"])], inputs, outputs, opset=17)
    assert found(unknown_operator, later, tmp_path)[0].message.startswith("Gelu: ONNX has no such operator")
    gone = tiny.model([tiny.node("Upsample", ["x", "s"], ["y"])], inputs, outputs, {"s": [1.0] * 4}, opset=11)
    (finding,) = found(unknown_operator, gone, tmp_path)
    assert finding.message == "Upsample: removed from ONNX before opset 11"


def test_equal_operators_are_one_finding(tmp_path: Path) -> None:
    built = tiny.unknown_operator()
    built.graph.node.append(tiny.node("NoSuchOperator", ["y"], ["z"], domain="example.com"))
    (finding,) = found(unknown_operator, built, tmp_path)
    assert finding.message.endswith("; 2 nodes")


def test_the_models_own_functions_are_known(tmp_path: Path) -> None:
    built = tiny.unknown_operator()
    body = [tiny.node("Neg", ["a"], ["b"])]
    built.functions.append(
        helper.make_function(
            "example.com", "NoSuchOperator", ["a"], ["b"], body, [helper.make_opsetid("", 17)]
        )
    )
    assert found(unknown_operator, built, tmp_path) == []


def test_what_onnx_and_onnx_runtime_bring_is_known(tmp_path: Path) -> None:
    assert found(unknown_operator, tiny.zipmap(), tmp_path) == []
    built = tiny.add()
    built.graph.node[0].domain = "com.microsoft"
    assert found(unknown_operator, built, tmp_path) == []


def test_an_opset_newer_than_the_onnx_package_may_have_it(tmp_path: Path) -> None:
    built = tiny.add()
    built.graph.node[0].op_type, built.opset_import[0].version = "Addd", 99
    assert found(unknown_operator, built, tmp_path) == []


def test_what_loaded_is_known(tmp_path: Path) -> None:
    assert found(unknown_operator, tiny.unknown_operator(), tmp_path, ran=Ran()) == []


@pytest.mark.parametrize(
    "said",
    [
        "com.microsoft:Addd(-1) is not a registered function/op",
        "No Op registered for Addd with domain_version of 17",
        "No opset import for domain 'example.com'",
    ],
)
def test_what_onnx_runtime_refuses_is_told_in_its_words(tmp_path: Path, said: str) -> None:
    (finding,) = found(unknown_operator, tiny.add(), tmp_path, ran=Ran(refusal=f"Fatal error: {said}"))
    assert finding.message == f"ONNX Runtime refuses an operator: {said}"
    assert found(unknown_operator, tiny.add(), tmp_path, ran=Ran(refusal="another reason")) == []


def test_an_operator_without_a_kernel_is_left_to_the_rule_on_providers(tmp_path: Path) -> None:
    ran = Ran(refusal="Could not find an implementation for Conv(11) node with name 'c'")
    assert found(unknown_operator, tiny.add(), tmp_path, ran=ran) == []


def test_a_refused_operator_is_looked_up_in_the_graph(tmp_path: Path) -> None:
    built = tiny.add()
    built.opset_import[0].version = 6
    ran = Ran(refusal="Could not find an implementation for Add(6) node with name ''")
    (finding,) = found(unknown_operator, built, tmp_path, ran=ran)
    assert finding.node == 'Add "→ y"'
    assert finding.fix == "export again: ONNX Runtime begins with opset 7, this is 6"


def with_function(body: list[onnx.NodeProto], *imports: tuple[str, int]) -> onnx.ModelProto:
    """A model of opset 17 that calls a function of its own, which imports its own opsets."""
    built = tiny.unknown_operator()
    built.opset_import.append(helper.make_opsetid("example.com", 1))
    opsets = [helper.make_opsetid(*one) for one in imports]
    built.functions.append(helper.make_function("example.com", "NoSuchOperator", ["a"], ["b"], body, opsets))
    return built


def test_a_function_is_read_by_its_own_imports(tmp_path: Path) -> None:
    body = [tiny.node("Scaler", ["a"], ["b"], domain="ai.onnx.ml", offset=[0.0], scale=[2.0])]
    good = with_function(body, ("", 17), ("ai.onnx.ml", 3))
    run(good, x=np.ones(4, np.float32))
    assert found(unknown_operator, good, tmp_path) == []
    bad = with_function(body, ("", 17))
    bad.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    (finding,) = found(unknown_operator, bad, tmp_path)
    assert finding.message.endswith("function NoSuchOperator imports no opset of its domain ai.onnx.ml")
