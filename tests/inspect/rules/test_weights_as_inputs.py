from __future__ import annotations

from pathlib import Path

import onnx
from onnx import TensorProto as T

from hotlap.inspect.rules import weights_as_inputs
from tests import tiny
from tests.inspect.cases import found


def open_to_all(ir: int = 9) -> onnx.ModelProto:
    built = tiny.mlp()
    built.ir_version = ir
    built.graph.input.append(tiny.info("w1", T.FLOAT, [16, 32]))
    return built


def test_a_weight_that_is_an_input_is_found(tmp_path: Path) -> None:
    (finding,) = found(weights_as_inputs, open_to_all(), tmp_path)
    assert (finding.severity, finding.tensor, finding.node) == ("warning", "w1", 'Gemm "→ h"')
    assert finding.message.startswith('the weight "w1" is an input as well')
    assert finding.cost == "1 of 4 weights"


def test_several_are_one_finding(tmp_path: Path) -> None:
    built = open_to_all()
    built.graph.input.append(tiny.info("b1", T.FLOAT, [32]))
    (finding,) = found(weights_as_inputs, built, tmp_path)
    assert finding.message.startswith("2 weights are inputs as well")


def test_old_files_had_to_list_them(tmp_path: Path) -> None:
    assert found(weights_as_inputs, open_to_all(ir=3), tmp_path) == []


def test_weights_alone_are_none(tmp_path: Path) -> None:
    assert found(weights_as_inputs, tiny.mlp(), tmp_path) == []
