from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto as T

from hotlap.inspect.rules import giant_constant
from hotlap.model.weights import WeightStats
from tests import tiny
from tests.inspect.cases import found


def plus(weight: object) -> onnx.ModelProto:
    return tiny.model(
        [tiny.node("Add", ["x", "w"], ["y"])],
        [tiny.info("x", T.FLOAT, ["N", 1])],
        [tiny.info("y", T.FLOAT, None)],
        {"w": weight},
    )


def test_one_value_everywhere_is_found(tmp_path: Path) -> None:
    (finding,) = found(giant_constant, plus(np.full((512, 512), 3, np.float32)), tmp_path)
    assert (finding.severity, finding.tensor) == ("warning", "w")
    assert finding.message == "float32[512, 512] holds the one value 3 everywhere"
    assert finding.cost == "1,048,576 bytes"


def test_small_or_varied_is_none(tmp_path: Path) -> None:
    assert found(giant_constant, plus(np.full((511, 512), 3, np.float32)), tmp_path) == []
    varied = np.random.default_rng(0).standard_normal((512, 512)).astype(np.float32)
    assert found(giant_constant, plus(varied), tmp_path) == []
    holed = np.full((512, 512), 3, np.float32)
    holed[0, 0] = np.nan
    assert found(giant_constant, plus(holed), tmp_path) == []


def test_a_tensor_that_fills_the_file_is_found(tmp_path: Path) -> None:
    big = WeightStats(
        name="w", value="w", scope="", dtype="float32", shape=(1 << 28,), nbytes=1 << 30, low=0.0, high=1.0
    )
    beside = WeightStats(
        name="v",
        value="v",
        scope="",
        dtype="float32",
        shape=(1 << 28,),
        nbytes=1 << 30,
        low=0.0,
        high=1.0,
        external=True,
    )
    (finding,) = found(giant_constant, tiny.add(), tmp_path, weights={"w": big, "v": beside})
    assert finding.tensor == "w"
    assert finding.fix == "hotlap optimize MODEL --pass external-weights -o OUT.onnx"


def test_integers_are_told_apart_beyond_what_a_float_holds(tmp_path: Path) -> None:
    near = np.full((512, 512), 2**53, np.int64)
    near[0, 0] += 1
    assert found(giant_constant, plus(near), tmp_path) == []
    (finding,) = found(giant_constant, plus(np.full((512, 512), 2**53 + 1, np.int64)), tmp_path)
    assert finding.message == "int64[512, 512] holds the one value 9007199254740993 everywhere"
