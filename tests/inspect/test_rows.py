"""Where the rows stand, from the declarations and from what a run learned."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto as T

from hotlap.inspect.case import Ran
from hotlap.inspect.rows import Rows
from hotlap.plan import Facts
from tests import tiny
from tests.inspect.runs import quick_case


def transposed(*dims: object) -> onnx.ModelProto:
    return tiny.model(
        [tiny.node("Transpose", ["x"], ["y"], perm=[1, 0])],
        [tiny.info("x", T.FLOAT, list(dims))],
        [tiny.info("y", T.FLOAT, None)],
    )


def test_the_first_dynamic_axis_holds_the_rows_wherever_it_goes() -> None:
    rows = Rows(quick_case(transposed("batch", 4)))
    assert rows.axes == {"x": 0} and rows.fixed == {} and not rows.one_at_most
    assert (rows.axis("x"), rows.axis("y"), rows.axis("nowhere")) == (0, 1, None)
    assert (rows.rank("y"), rows.rank("nowhere")) == (2, None)


def test_what_a_run_learned_counts_more() -> None:
    rows = Rows(quick_case(transposed("steps", "batch"), Ran(facts=Facts(axes={"x": 1, "y": 0}))))
    assert (rows.axis("x"), rows.axis("y")) == (1, 0)


def test_one_name_for_all_axes_says_nothing() -> None:
    assert Rows(quick_case(transposed("dyn", "dyn"))).axis("y") is None


def test_a_fixed_axis_is_known_as_such() -> None:
    rows = Rows(quick_case(transposed(1, 4)))
    assert rows.one_at_most and rows.axis("y") is None
    assert not Rows(quick_case(transposed(2, 4))).one_at_most


def test_weights_and_scalars_hold_no_rows() -> None:
    model = tiny.scalar()
    assert Rows(quick_case(model)).axes == {}
    model = transposed("batch", 4)
    model.graph.input.append(tiny.info("w", T.FLOAT, [2, 2]))
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones((2, 2), np.float32), "w"))
    assert Rows(quick_case(model)).axes == {"x": 0}
