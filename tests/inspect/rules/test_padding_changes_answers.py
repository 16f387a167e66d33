"""HL106: answers that padding changes."""

from __future__ import annotations

from pathlib import Path

from onnx import TensorProto as T

from hotlap.inspect.case import Ran
from hotlap.inspect.rules import padding_changes_answers as rule
from hotlap.plan import Facts
from tests import tiny
from tests.inspect.cases import found
from tests.inspect.quantised import dynamic_matmul


def test_each_sensitive_axis_is_named(tmp_path: Path) -> None:
    facts = Facts(padding={"length": "sensitive", "x[1]": "sensitive", "w": "insensitive", "h": "unknown"})
    one, two = found(rule, tiny.add(), tmp_path, ran=Ran(facts=facts))
    assert one.tensor == ""
    assert one.message == "padding along length changes the answers" and one.severity == "info"
    assert two.message == "padding along x[1] changes the answers" and two.tensor == "x"


def test_a_scale_taken_at_run_time_is_to_blame(tmp_path: Path) -> None:
    facts = Facts(padding={"batch": "sensitive"})
    [one] = found(rule, dynamic_matmul(), tmp_path, ran=Ran(facts=facts))
    assert (one.node, one.tensor) == ('DynamicQuantizeLinear "quantise"', "x")
    assert "takes its scale from padding too" in one.message


def test_others(tmp_path: Path) -> None:
    assert found(rule, dynamic_matmul(), tmp_path, ran=Ran(facts=Facts(padding={"n": "insensitive"}))) == []
    assert found(rule, dynamic_matmul(), tmp_path, ran=Ran()) == []


def test_it_is_a_fault_where_a_mask_should_prevent_it(tmp_path: Path) -> None:
    model = tiny.add()
    model.graph.input.append(tiny.info("attention_mask", T.INT64, ["N", "length"]))
    [one] = found(rule, model, tmp_path, ran=Ran(facts=Facts(padding={"length": "sensitive"})))
    assert one.severity == "warning"
