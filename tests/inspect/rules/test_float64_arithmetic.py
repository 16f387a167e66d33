"""HL201: where float64 is computed, and how it came in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

from hotlap.inspect.rules import float64_arithmetic as rule
from tests import tiny
from tests.inspect.cases import found
from tests.inspect.runs import rows, run, small


def by_cast() -> onnx.ModelProto:
    return small(
        [
            tiny.node("Cast", ["x"], ["d"], to=T.DOUBLE, name="widen"),
            tiny.node("Exp", ["d"], ["e"], name="first"),
            tiny.node("Mul", ["e", "two"], ["m"], name="second"),
            tiny.node("Cast", ["m"], ["y"], to=T.FLOAT),
        ],
        None,
        {"two": np.float64(2)},
    )


def test_nodes_are_counted_and_the_origin_is_named(tmp_path: Path) -> None:
    assert run(by_cast(), x=rows(1))[0].dtype == np.float32
    [one] = found(rule, by_cast(), tmp_path)
    assert one.message == ('Exp "first" and 1 more nodes compute in float64, since Cast "widen" makes it')
    assert (one.severity, one.node) == ("warning", 'Exp "first"')


@pytest.mark.parametrize("of_input", [True, False])
def test_inputs_and_constants_bring_it_too(tmp_path: Path, of_input: bool) -> None:
    model = tiny.model(
        [tiny.node("Add", ["x", "one"], ["y"], name="sum")],
        [tiny.info("x", T.DOUBLE, ["n"])] if of_input else [],
        [tiny.info("y", T.DOUBLE, ["n"])],
        {"one": np.ones(1)} if of_input else {"one": np.ones(1), "x": np.ones(1)},
    )
    [one] = found(rule, model, tmp_path)
    kind = "input" if of_input else "constant"
    assert one.message == f'Add "sum" computes in float64, from the {kind} x' and one.tensor == "x"


def test_what_is_only_carried_is_no_arithmetic(tmp_path: Path) -> None:
    carried = small(
        [tiny.node("Cast", ["x"], ["d"], to=T.DOUBLE), tiny.node("Cast", ["d"], ["y"], to=T.FLOAT)]
    )
    assert found(rule, carried, tmp_path) == []
    assert found(rule, tiny.mlp(), tmp_path) == []
    assert found(rule, tiny.identity(T.DOUBLE), tmp_path) == []
