from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper

from hotlap.inspect.rules import value_without_maker
from tests import tiny
from tests.inspect.cases import found


def test_a_value_that_is_read_and_not_made_is_an_error(tmp_path: Path) -> None:
    built = tiny.add()
    built.graph.node[0].input[1] = "lost"
    (finding,) = found(value_without_maker, built, tmp_path)
    assert (finding.severity, finding.tensor, finding.node) == ("error", "lost", 'Add "→ y"')
    assert finding.message == '"lost" is read, but no node, weight or input makes it'


def test_an_output_that_is_not_made_is_an_error(tmp_path: Path) -> None:
    built = tiny.add()
    built.graph.output.append(tiny.info("lost", T.FLOAT, None))
    (finding,) = found(value_without_maker, built, tmp_path)
    assert finding.message == '"lost" is an output, but no node makes it'


def test_inside_of_a_branch_too(tmp_path: Path) -> None:
    built = tiny.branch()
    branches = {a.name: a.g for a in built.graph.node[-1].attribute}
    branches["then_branch"].node[0].input[0] = "lost"
    branches["else_branch"].output[0].name = "gone"
    given, read = sorted(found(value_without_maker, built, tmp_path), key=lambda f: f.tensor)
    assert read.node == 'If "→ y" / then_branch / Add "→ t"'
    assert given.message == '"gone" is an output of If "→ y" / else_branch, but no node makes it'


@pytest.mark.parametrize("make", [tiny.branch, tiny.mlp, tiny.no_input, tiny.gather_mask, tiny.many_inputs])
def test_whole_models_have_none(tmp_path: Path, make: object) -> None:
    assert callable(make)
    assert found(value_without_maker, make(), tmp_path) == []


def test_sparse_weights_are_made(tmp_path: Path) -> None:
    built = tiny.add()
    built.graph.node[0].input[1] = "w"
    values = onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(_one(1.0)), "w")
    built.graph.sparse_initializer.append(
        helper.make_sparse_tensor(values, helper.make_tensor("i", T.INT64, [1], [0]), [4])
    )
    assert found(value_without_maker, built, tmp_path) == []


def _one(value: float) -> onnx.TensorProto:
    return helper.make_tensor("v", T.FLOAT, [1], [value])


def test_optional_inputs_that_are_left_out_are_none(tmp_path: Path) -> None:
    assert found(value_without_maker, tiny.conv(multiple=2), tmp_path) == []
