from __future__ import annotations

from pathlib import Path

import onnx
from onnx import TensorProto as T

from hotlap.inspect.rules import input_passed_through
from tests import tiny
from tests.inspect.cases import found


def test_an_identity_is_found(tmp_path: Path) -> None:
    (finding,) = found(input_passed_through, tiny.identity(), tmp_path)
    assert (finding.severity, finding.tensor) == ("info", "y")
    assert finding.message == 'output "y" is the input "x" (float32[N]) unchanged'


def test_an_input_that_is_an_output_by_name_is_found(tmp_path: Path) -> None:
    built = tiny.add()
    built.graph.output.append(tiny.info("x", T.FLOAT, ["N", 4]))
    (finding,) = found(input_passed_through, built, tmp_path)
    assert finding.tensor == "x"


def test_a_weight_that_is_given_out_is_none(tmp_path: Path) -> None:
    assert found(input_passed_through, tiny.no_input(), tmp_path) == []
    assert found(input_passed_through, tiny.add(), tmp_path) == []


def test_a_circle_of_nodes_ends(tmp_path: Path) -> None:
    built: onnx.ModelProto = tiny.identity()
    built.graph.node[0].input[0] = "y"
    assert found(input_passed_through, built, tmp_path) == []
