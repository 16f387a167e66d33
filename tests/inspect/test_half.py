"""What half precision holds, and where values leave that."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

from hotlap.inspect.case import Ran, Range
from hotlap.inspect.half import LARGEST, OVERFLOW, SMALLEST, SMALLEST_NORMAL, crossings, in_half
from hotlap.model.walk import Walk
from tests import tiny
from tests.inspect.runs import quick_case


def squares(kind: int = T.FLOAT16) -> onnx.ModelProto:
    """b = x * x * x * x in two steps."""
    return tiny.model(
        [tiny.node("Mul", ["x", "x"], ["a"], name="one"), tiny.node("Mul", ["a", "a"], ["b"], name="two")],
        [tiny.info("x", kind, ["n"])],
        [tiny.info("b", kind, ["n"])],
    )


def found(model: onnx.ModelProto, limit: float, **ranges: Range) -> list[Any]:
    return list(crossings(quick_case(model, Ran(ranges=ranges)), limit))


def test_the_limits_are_numpys() -> None:
    assert float(np.finfo(np.float16).max) == LARGEST
    assert float(np.finfo(np.float16).smallest_normal) == SMALLEST_NORMAL
    assert float(np.finfo(np.float16).smallest_subnormal) == SMALLEST
    with np.errstate(over="ignore"):
        assert np.isinf(np.float32(OVERFLOW).astype(np.float16))
        assert np.float32(np.nextafter(np.float32(OVERFLOW), np.float32(0))).astype(np.float16) == LARGEST
    assert np.float16(SMALLEST / 2) == 0 and np.float16(SMALLEST * 0.51) > 0


def test_only_the_first_node_that_leaves_the_limit_is_named() -> None:
    [one] = found(squares(), OVERFLOW, x=Range(0, 300), a=Range(0, 90_000), b=Range(0, 8.1e9))
    assert (one.node.proto.name, one.value, one.peak, one.stored) == ("one", "a", 90_000.0, True)


def test_what_is_not_finite_is_beyond_every_limit() -> None:
    [one] = found(squares(), OVERFLOW, x=Range(0, 1), a=Range(0, 1, finite=False))
    assert one.peak == float("inf")


def test_a_model_without_half_precision_is_judged_for_a_conversion() -> None:
    [one] = found(squares(T.FLOAT), OVERFLOW, x=Range(0, 300), a=Range(0, 90_000))
    assert not one.stored


def test_without_ranges_nothing_is_said() -> None:
    assert found(squares(), OVERFLOW) == []
    assert list(crossings(quick_case(squares()), OVERFLOW)) == []


@pytest.mark.parametrize(("low", "high", "masks"), [(-1e5, 3, True), (-1e5, 1e5, False)])
def test_a_mask_is_known_by_where_it_goes(low: float, high: float, masks: bool) -> None:
    model = tiny.model(
        [
            tiny.node("Mul", ["m", "x"], ["big"]),
            tiny.node("Reshape", ["big", "s"], ["r"]),
            tiny.node("Add", ["x", "r"], ["sum"]),
            tiny.node("Softmax", ["sum"], ["y"]),
        ],
        [tiny.info("x", T.FLOAT16, ["n", 4]), tiny.info("m", T.FLOAT16, ["n", 4])],
        [tiny.info("y", T.FLOAT16, ["n", 4])],
        {"s": np.array([-1, 4])},
    )
    ranges = {"x": Range(-3, 3), "m": Range(-4e4, 0), "big": Range(low, high)}
    [one] = found(model, OVERFLOW, **ranges)
    assert one.value == "big" and one.masks is masks


def test_nodes_in_half() -> None:
    model = tiny.model(
        [tiny.node("Cast", ["x"], ["h"], to=T.FLOAT16), tiny.node("Relu", ["h"], ["y"])],
        [tiny.info("x", T.FLOAT, ["n"])],
        [tiny.info("y", T.FLOAT16, ["n"])],
    )
    assert [n.op for n in in_half(Walk(model))] == ["Relu"]
    assert in_half(Walk(tiny.mlp())) == []


def test_what_is_cast_to_half_precision_crosses_there() -> None:
    model = tiny.model(
        [
            tiny.node("Mul", ["x", "x"], ["a"]),
            tiny.node("Cast", ["a"], ["h"], to=T.FLOAT16, name="narrow"),
            tiny.node("Relu", ["h"], ["y"]),
        ],
        [tiny.info("x", T.FLOAT, ["n"])],
        [tiny.info("y", T.FLOAT16, ["n"])],
    )
    [one] = found(
        model, OVERFLOW, x=Range(0, 400), a=Range(0, 160_000), h=Range(0, 160_000), y=Range(0, 160_000)
    )
    assert one.node.proto.name == "narrow"
