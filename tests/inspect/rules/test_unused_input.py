from __future__ import annotations

from pathlib import Path

from onnx import TensorProto as T

from hotlap.inspect.rules import unused_input
from tests import tiny
from tests.inspect.cases import found


def test_an_input_that_nobody_reads_is_told(tmp_path: Path) -> None:
    built = tiny.add()
    built.graph.input.append(tiny.info("z", T.FLOAT, ["N"]))
    (finding,) = found(unused_input, built, tmp_path)
    assert (finding.severity, finding.tensor) == ("info", "z")
    assert finding.message == 'input "z" changes nothing, and every caller must give it'


def test_one_that_only_an_inner_graph_reads_or_that_is_given_out_is_none(tmp_path: Path) -> None:
    built = tiny.branch()
    built.graph.input.append(tiny.info("z", T.FLOAT, ["N"]))
    built.graph.node[-1].attribute[0].g.node[0].input[0] = "z"
    assert found(unused_input, built, tmp_path) == []
    given = tiny.add()
    given.graph.input.append(tiny.info("z", T.FLOAT, ["N"]))
    given.graph.output.append(tiny.info("z", T.FLOAT, ["N"]))
    assert found(unused_input, given, tmp_path) == []


def test_weights_that_are_inputs_too_are_none(tmp_path: Path) -> None:
    built = tiny.unused_weight()
    built.graph.input.append(tiny.info("unused", T.FLOAT, [3]))
    assert found(unused_input, built, tmp_path) == []
