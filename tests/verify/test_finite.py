from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto as T

from hotlap.verify.bisect_child import bisect
from tests import tiny
from tests.verify.test_bisect_child import request, with_default


def test_masks_are_no_cause(tmp_path: Path) -> None:
    """-infinity is meant; the place that is told is that of the first NaN."""
    nodes = [tiny.node("Mul", ["x", "w"], ["y"])]
    ends = [tiny.info("x", T.FLOAT, [2, 2])], [tiny.info("y", T.FLOAT, [2, 2])]
    mask = np.array([[1, -np.inf], [np.nan, 1]], np.float32)
    path = tiny.save(tiny.model(nodes, *ends, {"w": mask}), tmp_path / "m.onnx")
    found = bisect(request(tmp_path, path, None)).found
    assert found is not None and (found.place, found.after) == ("[1, 0]", "nan")


def test_a_weight_that_is_also_an_input_is_looked_into(tmp_path: Path) -> None:
    odd = with_default("Mul", np.array([[1, np.nan], [1, 1]], np.float32), tmp_path / "odd.onnx")
    found = bisect(request(tmp_path, odd, None)).found
    assert found is not None
    assert [seen.agrees for seen in found.inputs] == [True, False]
    assert found.inputs[1].said.startswith("a weight: 1 of 4 values not finite")
