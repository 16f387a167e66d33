"""HL204: what float16 cannot hold, with the numbers of a real case computed in numpy's float16."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto as T

from hotlap.inspect.case import Ran, Range
from hotlap.inspect.rules import half_overflows as rule
from tests import tiny
from tests.inspect.cases import found


def norm(kind: int = T.FLOAT16) -> onnx.ModelProto:
    """y = x / sqrt(mean(x * x))."""
    return tiny.model(
        [
            tiny.node("Mul", ["x", "x"], ["s"], name="square"),
            tiny.node("ReduceMean", ["s"], ["v"], axes=[1], name="mean"),
            tiny.node("Sqrt", ["v"], ["r"]),
            tiny.node("Div", ["x", "r"], ["y"]),
        ],
        [tiny.info("x", kind, ["n", 8])],
        [tiny.info("y", kind, ["n", 8])],
    )


def ranges_of(x: float) -> dict[str, Range]:
    held = np.full(8, x, np.float32)
    values = {"x": held, "s": held * held, "v": (held * held).mean(), "r": np.sqrt((held * held).mean())}
    return {n: Range(float(np.min(v)), float(np.max(v))) for n, v in values.items()}


def test_the_node_where_it_begins_is_named(tmp_path: Path) -> None:
    with np.errstate(over="ignore"):
        assert np.isinf(np.float16(300) * np.float16(300))
    [one] = found(rule, norm(), tmp_path, ran=Ran(ranges=ranges_of(300)))
    assert (one.severity, one.node, one.tensor) == ("error", 'Mul "square"', "s")
    assert one.message == (
        "s reaches 90,000 in float32 arithmetic and becomes infinite in float16, which ends at 65,504"
    )


def test_ordinary_values_are_left_alone(tmp_path: Path) -> None:
    assert found(rule, norm(), tmp_path, ran=Ran(ranges=ranges_of(100))) == []
    assert found(rule, norm(), tmp_path, ran=Ran()) == []


def test_a_float32_model_is_warned_before_it_is_converted(tmp_path: Path) -> None:
    [one] = found(rule, norm(T.FLOAT), tmp_path, ran=Ran(ranges=ranges_of(300)))
    assert one.severity == "warning" and "would become infinite" in one.message


def test_what_is_infinite_already_is_said_to_be(tmp_path: Path) -> None:
    ran = Ran(ranges={"x": Range(1, 2), "s": Range(1, 2, finite=False)})
    [one] = found(rule, norm(), tmp_path, ran=ran)
    assert one.message == "s is infinite or no number already in float32 arithmetic"


def masked(low: np.float16) -> onnx.ModelProto:
    return tiny.model(
        [
            tiny.node("Where", ["hidden", "low", "x"], ["w"], name="mask"),
            tiny.node("Add", ["w", "bias"], ["b"], name="shift"),
            tiny.node("Softmax", ["b"], ["y"]),
        ],
        [tiny.info("x", T.FLOAT16, ["n", 4]), tiny.info("hidden", T.BOOL, ["n", 4])],
        [tiny.info("y", T.FLOAT16, ["n", 4])],
        {"low": low, "bias": np.float16(-40)},
    )


def test_a_mask_of_minus_infinity_is_no_fault(tmp_path: Path) -> None:
    ran = Ran(ranges={"x": Range(-1, 1), "w": Range(-1, 1, finite=False), "b": Range(-41, 0, finite=False)})
    assert found(rule, masked(np.float16(-np.inf)), tmp_path, ran=ran) == []


def test_a_mask_that_overflows_is_a_warning(tmp_path: Path) -> None:
    ran = Ran(ranges={"x": Range(-1, 1), "w": Range(-65504, 1), "b": Range(-65544, 0)})
    [one] = found(rule, masked(np.float16(-65504)), tmp_path, ran=ran)
    assert one.severity == "warning" and "masked whole turn into NaN" in one.message
