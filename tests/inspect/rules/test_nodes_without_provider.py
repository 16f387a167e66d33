from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import pytest

from hotlap.cli.inspect import command
from hotlap.inspect.case import Case, Ran, Runtime
from hotlap.inspect.finding import Finding
from hotlap.inspect.rules import nodes_without_provider
from hotlap.model.walk import Walk
from hotlap.runtime.ort import load_error
from tests import tiny
from tests.tiny import T, info, node


def case(model: onnx.ModelProto, providers: tuple[str, ...] = ("cpu",), **ran: Any) -> Case:
    return Case(
        anatomy=None,  # these rules do not look at it
        walk=Walk(model),
        weights={},
        runtime=Runtime(ort=ort.__version__, providers=providers),
        ran=Ran(**ran),
    )


def refused(model: onnx.ModelProto) -> Finding:
    """The finding about a model that the installed ORT really refuses."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    with pytest.raises(Exception, match="NOT_IMPLEMENTED") as caught:
        ort.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"], enable_fallback=0
        )
    said = str(load_error(caught.value, "m.onnx"))
    (found,) = nodes_without_provider.find(case(model, refusal=said))
    assert (found.code, found.severity) == ("HL502", "error")
    return found


def test_an_operator_without_a_kernel_for_four_bits() -> None:
    model = tiny.model(
        [node("Identity", ["x"], ["y"], name="id")],
        [info("x", T.INT4, ["n"])],
        [info("y", T.INT4, ["n"])],
        opset=21,
    )
    found = refused(model)
    assert found.message == "ORT does not load the model: Identity of int4 has no kernel here"
    assert found.node == 'Identity "id"'


def test_a_product_of_bfloat16_and_how_many_there_are() -> None:
    weights = {"w": np.ones((4, 4), ml_dtypes.bfloat16)}
    model = tiny.model(
        [node("MatMul", ["x", "w"], ["h"], name="one"), node("MatMul", ["h", "w"], ["y"], name="two")],
        [info("x", T.BFLOAT16, ["n", 4])],
        [info("y", T.BFLOAT16, ["n", 4])],
        weights,
    )
    found = refused(model)
    assert found.message == (
        "ORT does not load the model: MatMul of bfloat16 has no kernel here; the file has 2 MatMul"
    )


def test_a_node_without_a_name() -> None:
    model = tiny.model(
        [node("Conv", ["x", "k"], ["y"])],
        [info("x", T.DOUBLE, ["n", 4, 8, 8])],
        [info("y", T.DOUBLE, None)],
        {"k": np.ones((4, 4, 1, 1))},
    )
    found = refused(model)
    assert found.message.startswith("ORT does not load the model: Conv of float64 has no kernel here")
    assert found.node == ""


def test_a_model_of_an_opset_before_onnx_runtimes_first_is_left_to_the_rule_on_operators() -> None:
    model = tiny.add()
    model.opset_import[0].version = 6
    said = "Could not find an implementation for Add(6) node with name ''"
    assert list(nodes_without_provider.find(case(model, refusal=said))) == []


def test_nodes_that_a_strict_chain_leaves_to_the_cpu() -> None:
    placement = {
        "cuda": ("Conv", "Conv", "Relu"),
        "cpu": ("Resize", "Resize", "NonZero"),
    }
    (found,) = nodes_without_provider.find(case(tiny.mlp(), ("cuda",), placement=placement))
    assert found.message == (
        "cuda does not take 3 of 6 nodes (2 Resize, NonZero), and the CPU was not asked for"
    )


def test_the_same_told_by_the_refusal() -> None:
    said = (
        "m.onnx: cuda does not take 3 of 6 nodes (2 Resize, NonZero), and the CPU was not asked for; to "
        "allow the CPU, ask for cuda,cpu"
    )
    (found,) = nodes_without_provider.find(case(tiny.mlp(), ("cuda",), refusal=said))
    assert found.message == (
        "cuda does not take 3 of 6 nodes (2 Resize, NonZero), and the CPU was not asked for"
    )


def test_what_is_asked_for_or_refused_for_other_reasons_has_no_finding() -> None:
    placement = {"cuda": ("Conv",), "cpu": ("Resize",)}
    both = case(tiny.mlp(), ("cuda", "cpu"), placement=placement)
    assert list(nodes_without_provider.find(both)) == []
    assert list(nodes_without_provider.find(case(tiny.mlp(), refusal="not an ONNX file"))) == []
    assert list(nodes_without_provider.find(replace(both, ran=None))) == []


def test_the_option_that_mends_it_exists() -> None:
    refusal = "cuda does not take 2 of 3 nodes (2 Gemm), and the CPU was not asked for"
    [finding] = nodes_without_provider.find(case(tiny.mlp(), ("cuda",), refusal=refusal))
    (option,) = re.findall(r"--[a-z-]+", finding.fix)
    assert option in {o for p in command.params for o in p.opts}
