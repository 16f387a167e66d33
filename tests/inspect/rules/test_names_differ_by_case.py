from __future__ import annotations

from pathlib import Path

from onnx import TensorProto as T

from hotlap.inspect.rules import names_differ_by_case
from tests import tiny
from tests.inspect.cases import found


def test_two_names_are_found(tmp_path: Path) -> None:
    built = tiny.add()
    built.graph.input.append(tiny.info("X", T.FLOAT, ["N", 4]))
    (finding,) = found(names_differ_by_case, built, tmp_path)
    assert (finding.severity, finding.tensor) == ("warning", "x")
    assert finding.message == 'inputs or outputs differ only in case: "x", "X"'


def test_an_input_and_an_output_too(tmp_path: Path) -> None:
    built = tiny.add()
    built.graph.node[0].output[0] = built.graph.output[0].name = "X"
    assert len(found(names_differ_by_case, built, tmp_path)) == 1


def test_files_of_weights_too(tmp_path: Path) -> None:
    built = tiny.external_at("w.bin")
    other = built.graph.initializer.add()
    other.CopyFrom(built.graph.initializer[0])
    other.name, other.external_data[0].value = "v", "W.bin"
    (finding,) = found(names_differ_by_case, built, tmp_path)
    assert finding.message.startswith("files of external weights differ only in case: ")


def test_other_names_and_equal_names_are_none(tmp_path: Path) -> None:
    built = tiny.add()
    built.graph.output.append(tiny.info("x", T.FLOAT, ["N", 4]))
    assert found(names_differ_by_case, built, tmp_path) == []
    assert found(names_differ_by_case, tiny.many_inputs(), tmp_path) == []
