from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from hotlap.model.widened import has_half, node_values, widened, with_outputs
from tests import tiny


def half() -> onnx.ModelProto:
    """Half precision in a weight, a constant, a cast, inside of a branch and in every declared type."""
    then = helper.make_graph(
        [
            tiny.node("Constant", [], ["k"], value=numpy_helper.from_array(np.float16(2))),
            tiny.node("Mul", ["h", "k"], ["t"]),
        ],
        "then",
        [],
        [tiny.info("t", T.FLOAT16, None)],
    )
    other = helper.make_graph([tiny.node("Neg", ["h"], ["e"])], "else", [], [tiny.info("e", T.FLOAT16, None)])
    return tiny.model(
        [
            tiny.node("Add", ["x", "w"], ["a"]),
            tiny.node("Cast", ["a"], ["h"], to=T.FLOAT16),
            tiny.node("If", ["c"], ["y"], then_branch=then, else_branch=other),
        ],
        [tiny.info("x", T.FLOAT16, ["N"]), tiny.info("c", T.BOOL, [])],
        [tiny.info("y", T.FLOAT16, ["N"])],
        {"w": np.float16(1.5)},
    )


def test_half_precision_is_gone_from_everywhere(tmp_path: Path) -> None:
    assert has_half(half())
    model = widened(tiny.save(half(), tmp_path / "m.onnx"))
    assert not has_half(model)
    assert "float16" not in onnx.printer.to_text(model)
    assert numpy_helper.to_array(model.graph.initializer[0]) == np.float32(1.5)
    assert model.graph.initializer[0].name == "w"
    onnx.checker.check_model(model, full_check=True)


@pytest.mark.parametrize("make", [tiny.mlp, tiny.zipmap, tiny.sequence, tiny.branch, tiny.text])
def test_a_model_without_it_stays_as_it_is(tmp_path: Path, make: object) -> None:
    assert callable(make)
    assert not has_half(make())
    assert widened(tiny.save(make(), tmp_path / "m.onnx")) == make()


def test_external_weights_are_loaded(tmp_path: Path) -> None:
    model = widened(tiny.mlp_external(tmp_path))
    assert numpy_helper.to_array(model.graph.initializer[0]).shape == (16, 32)


def test_inner_values_are_given_out_once() -> None:
    built = tiny.mlp()
    assert node_values(built) == ["h", "r", "y"]
    copy = with_outputs(built, ["h", "y"])
    assert [value.name for value in copy.graph.output] == ["y", "h"]
    assert [value.name for value in built.graph.output] == ["y"], "the model itself stays"
