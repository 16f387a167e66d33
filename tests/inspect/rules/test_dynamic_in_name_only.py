"""HL101: both variants that fail for real, what proves it, and whom a run's message blames."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from hotlap.inspect.case import Ran
from hotlap.inspect.rules import dynamic_in_name_only as rule
from hotlap.plan import Facts, StuckAxis
from tests import tiny
from tests.inspect.cases import found
from tests.inspect.runs import rows, run, small


def loud() -> onnx.ModelProto:
    """A Reshape holds the batch that the model was exported with: two rows fail."""
    return small(
        [
            tiny.node("MatMul", ["x", "w"], ["a"], name="project"),
            tiny.node("Reshape", ["a", "shape"], ["y"], name="heads"),
        ],
        ["batch", 2, 4],
        {"w": np.eye(8, dtype=np.float32), "shape": np.array([1, 2, 4])},
    )


def silent() -> onnx.ModelProto:
    """All rows become one long one, without an error."""
    return small([tiny.node("Reshape", ["x", "shape"], ["y"], name="flat")], ["batch", 8], {"shape": [1, -1]})


def said_by_ort(model: onnx.ModelProto) -> str:
    with pytest.raises(Exception, match="heads") as caught:
        run(model, x=rows(2))
    return str(caught.value).splitlines()[0]


def test_a_constant_that_holds_the_batch_is_proven_and_named(tmp_path: Path) -> None:
    [one] = found(rule, loud(), tmp_path)
    assert (one.severity, one.node, one.tensor) == ("error", 'Reshape "heads"', "shape")
    assert one.message == (
        "axis 0 of input x is declared dynamic (batch), but takes 1 alone at "
        'Reshape "heads": shape holds the size'
    )
    assert "--fix HL101" in one.fix
    assert run(loud(), x=rows(1))[0].shape == (1, 2, 4)


def test_rows_that_become_one_are_proven_too(tmp_path: Path) -> None:
    assert run(silent(), x=rows(3))[0].shape == (1, 24)
    [one] = found(rule, silent(), tmp_path)
    assert (one.severity, one.node, one.tensor) == ("error", 'Reshape "flat"', "shape")
    assert "always gives 1" in one.message


def test_what_ort_said_leads_to_the_node_and_the_constant(tmp_path: Path) -> None:
    stuck = StuckAxis(input="x", axis=0, works=(1,), fails=(2, 3), said=said_by_ort(loud()))
    [one] = found(rule, loud(), tmp_path, ran=Ran(facts=Facts(stuck=(stuck,))))
    assert (one.node, one.tensor) == ('Reshape "heads"', "shape")
    assert one.message.startswith(
        "axis 0 of input x is declared dynamic, but works with 1, fails with 2, 3: "
    )
    assert "Name:'heads'" in one.message


def test_a_cause_upstream_of_the_node_that_failed_is_found(tmp_path: Path) -> None:
    model = small(
        [
            tiny.node("NonZero", ["x"], ["hidden"]),
            tiny.node("Reshape", ["hidden", "early"], ["r"], name="early"),
            tiny.node("Add", ["r", "r"], ["y"], name="late"),
        ],
        None,
        {"early": np.array([1, -1])},
    )
    stuck = StuckAxis(input="x", axis=0, works=(1,), fails=(2,), said="running Add node. Name:'late' broke")
    [one] = found(rule, model, tmp_path, ran=Ran(facts=Facts(stuck=(stuck,))))
    assert (one.node, one.tensor) == ('Reshape "early"', "early")


def test_an_axis_that_a_run_found_stuck_is_told_even_where_no_culprit_is(tmp_path: Path) -> None:
    stuck = StuckAxis(input="x", axis=0, works=(), fails=(2,))
    [one] = found(rule, tiny.add(), tmp_path, ran=Ran(facts=Facts(stuck=(stuck,))))
    assert (one.node, one.tensor, one.severity) == ("", "x", "error")


@pytest.mark.parametrize(
    ("node", "weights"),
    [
        (tiny.node("Concat", ["x", "t"], ["y"], axis=1), {"t": np.ones((1, 2), np.float32)}),
        (tiny.node("Add", ["x", "t"], ["y"]), {"t": np.ones((2, 8), np.float32)}),
        (tiny.node("Expand", ["x", "t"], ["y"]), {"t": np.array([2, 8])}),
    ],
)
def test_other_constants_with_a_batch_in_them(tmp_path: Path, node: onnx.NodeProto, weights: object) -> None:
    model = small([node], None, weights)  # type: ignore[arg-type]
    [one] = found(rule, model, tmp_path)
    assert one.tensor == "t"
    with pytest.raises(Exception, match=node.op_type):
        run(model, x=rows(3))


@pytest.mark.parametrize("model", [tiny.mlp(), tiny.add(), tiny.conv(), tiny.gather_mask(), tiny.zipmap()])
def test_models_that_take_any_size_are_left_alone(tmp_path: Path, model: onnx.ModelProto) -> None:
    assert found(rule, model, tmp_path) == []
    assert found(rule, model, tmp_path, ran=Ran(facts=Facts())) == []


def test_a_reshape_that_keeps_the_rows_is_left_alone(tmp_path: Path) -> None:
    for shape in ([0, 2, 4], [-1, 2, 4]):
        model = small([tiny.node("Reshape", ["x", "s"], ["y"])], ["batch", 2, 4], {"s": shape})
        assert found(rule, model, tmp_path) == []
        assert run(model, x=rows(3))[0].shape == (3, 2, 4)


def test_a_fixed_axis_is_not_dynamic_in_name(tmp_path: Path) -> None:
    model = loud()
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    assert found(rule, model, tmp_path) == []


def test_only_rows_through_a_reshape_have_a_command(tmp_path: Path) -> None:
    for axis, command in ((0, True), (1, False)):
        stuck = StuckAxis(input="x", axis=axis, works=(1,), fails=(2,))
        [one] = found(rule, loud(), tmp_path, ran=Ran(facts=Facts(stuck=(stuck,))))
        assert ("hotlap optimize" in one.fix) is command
