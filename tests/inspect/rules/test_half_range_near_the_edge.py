"""HL203: above half of what float16 holds, but within."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto as T

from hotlap.inspect.case import Ran, Range
from hotlap.inspect.rules import half_range_near_the_edge as rule
from tests import tiny
from tests.inspect.cases import found


def square(kind: int = T.FLOAT16) -> onnx.ModelProto:
    return tiny.model(
        [tiny.node("Mul", ["x", "x"], ["y"], name="square")],
        [tiny.info("x", kind, ["n"])],
        [tiny.info("y", kind, ["n"])],
    )


def test_a_value_above_half_of_the_limit(tmp_path: Path) -> None:
    ran = Ran(ranges={"x": Range(0, 200), "y": Range(0, 40_000)}, data="yours")
    [one] = found(rule, square(), tmp_path, ran=ran)
    assert (one.severity, one.node, one.tensor) == ("warning", 'Mul "square"', "y")
    assert one.message == "y reaches 40,000 on your inputs; float16 ends at 65,504"


@pytest.mark.parametrize("peak", [32_000.0, 65_520.0, 1e9])
def test_what_is_further_in_or_out_is_not_near(tmp_path: Path, peak: float) -> None:
    ran = Ran(ranges={"x": Range(0, 10), "y": Range(0, peak)})
    assert found(rule, square(), tmp_path, ran=ran) == []


def test_nothing_measured_nothing_said(tmp_path: Path) -> None:
    assert found(rule, square(), tmp_path, ran=Ran()) == []
