from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import numpy_helper

from hotlap.inspect.rules import name_made_twice
from tests import tiny
from tests.inspect.cases import found
from tests.inspect.runs import run


@pytest.mark.parametrize(
    ("name", "already"), [("y", 'made by Gemm "→ y"'), ("w1", "a weight"), ("x", "an input")]
)
def test_a_name_that_is_taken_is_an_error(tmp_path: Path, name: str, already: str) -> None:
    built = tiny.mlp()
    built.graph.node.append(tiny.node("Neg", ["h"], [name]))
    (finding,) = found(name_made_twice, built, tmp_path)
    assert (finding.severity, finding.tensor, finding.node) == ("error", name, f'Neg "→ {name}"')
    assert finding.message == f'"{name}" is made here, and is {already} already'


def test_two_inputs_of_one_name_are_an_error(tmp_path: Path) -> None:
    built = tiny.add()
    built.graph.input.append(tiny.info("x", T.FLOAT, ["N", 4]))
    (finding,) = found(name_made_twice, built, tmp_path)
    assert finding.message == 'two inputs are called "x"'


def test_weights_among_the_inputs_and_names_of_other_branches_are_none(tmp_path: Path) -> None:
    built = tiny.branch()
    then, other = (a.g for a in built.graph.node[-1].attribute)
    other.node[0].output[0] = other.output[0].name = then.output[0].name
    built.graph.input.append(tiny.info("zero", T.FLOAT, []))
    assert found(name_made_twice, built, tmp_path) == []


def test_two_weights_of_one_name_are_told_though_the_model_loads(tmp_path: Path) -> None:
    built = tiny.mlp()
    built.graph.initializer.append(numpy_helper.from_array(np.zeros(32, np.float32), "b1"))
    (finding,) = found(name_made_twice, built, tmp_path)
    assert finding.message == 'two weights are called "b1": ONNX Runtime takes one of them'
    assert (finding.severity, finding.tensor) == ("warning", "b1")
    run(built, x=np.ones((1, 16), np.float32))
