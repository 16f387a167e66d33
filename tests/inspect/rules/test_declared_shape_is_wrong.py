"""HL104: outputs that are not shaped as declared."""

from __future__ import annotations

from pathlib import Path

from hotlap.inspect.case import Ran
from hotlap.inspect.rules import declared_shape_is_wrong as rule
from hotlap.plan import Facts
from tests import tiny
from tests.inspect.cases import found
from tests.inspect.runs import rows, run, small


def test_the_declared_and_the_real_shape_are_told(tmp_path: Path) -> None:
    model = small([tiny.node("Transpose", ["x"], ["y"], name="turn", perm=[1, 0])], ["batch", 3])
    real = run(model, x=rows(5))[0].shape
    assert real == (8, 5)
    [one] = found(rule, model, tmp_path, ran=Ran(facts=Facts(shapes={"y": (8, "batch")})))
    assert (one.severity, one.node, one.tensor) == ("error", 'Transpose "turn"', "y")
    assert one.message == "output y is declared [batch, 3], and is [8, batch]"


def test_an_output_without_a_declared_shape(tmp_path: Path) -> None:
    model = small([tiny.node("Relu", ["x"], ["y"])])
    [one] = found(rule, model, tmp_path, ran=Ran(facts=Facts(shapes={"y": (1, 8)})))
    assert "declared without a shape" in one.message


def test_the_graph_alone_proves_some(tmp_path: Path) -> None:
    for declared, said in ((["batch", 3], "[batch, 3]"), (["batch"], "[batch]")):
        model = small([tiny.node("Relu", ["x"], ["y"], name="relu")], declared)
        assert run(model, x=rows(5))[0].shape == (5, 8)
        for ran in (None, Ran(facts=Facts())):
            [one] = found(rule, model, tmp_path, ran=ran)
            assert one.message == f"output y is declared {said}, and is [batch, 8]"


def test_an_unknown_size_contradicts_nothing(tmp_path: Path) -> None:
    for declared in ([None, 8], ["rows", 8], ["batch", "width"], None):
        assert found(rule, small([tiny.node("Relu", ["x"], ["y"])], declared), tmp_path) == []


def test_right_shapes_and_no_run_say_nothing(tmp_path: Path) -> None:
    assert found(rule, tiny.add(), tmp_path, ran=Ran(facts=Facts())) == []
    assert found(rule, tiny.add(), tmp_path, ran=Ran()) == []
    assert found(rule, tiny.add(), tmp_path) == []
