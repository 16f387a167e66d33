from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto as T
from onnx import helper

from hotlap.inspect.cost_apart import cost_of
from hotlap.model.cost import count_cost
from tests import tiny


def test_it_is_what_is_counted_here(tmp_path: Path) -> None:
    model = tiny.conv()
    assert cost_of(tiny.save(model, tmp_path / "m.onnx")) == count_cost(model)


def test_sizes_that_work_are_handed_on(tmp_path: Path) -> None:
    model = tiny.model(
        [helper.make_node("Reshape", ["x", "s"], ["y"])],
        [tiny.info("x", T.FLOAT, ["N", "L"])],
        [tiny.info("y", T.FLOAT, None)],
        {"s": np.array([-1, 48])},
    )
    path = tiny.save(model, tmp_path / "m.onnx")
    assert cost_of(path).macs is None
    assert cost_of(path, {"L": 48}).held == {"L": 48}


def test_a_file_that_would_keep_it_busy_for_ever_is_given_up(tmp_path: Path) -> None:
    model = tiny.model(
        [helper.make_node("ConstantOfShape", ["s"], ["r"]), helper.make_node("Reshape", ["x", "r"], ["y"])],
        [tiny.info("x", T.FLOAT, ["N"])],
        [tiny.info("y", T.FLOAT, None)],
        {"s": np.array([10**13])},
    )
    found = cost_of(tiny.save(model, tmp_path / "m.onnx"), seconds=3)
    assert (found.macs, found.nbytes) == (None, None)
    assert found.why == "counting what a call costs: no answer within 3 s, so it was ended"


def test_a_file_that_is_no_model_is_a_reason(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"no model")
    assert "not an ONNX file" in cost_of(tmp_path / "m.onnx").why
