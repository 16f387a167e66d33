from __future__ import annotations

from dataclasses import replace

from hotlap.inspect.rules import gelu_not_fused
from tests.inspect.fusions import graphs

WHOLE = graphs.gelu()


def test_a_pattern_with_a_second_reader_is_found() -> None:
    (found,) = gelu_not_fused.find(graphs.case(WHOLE.read("e").model()))
    assert (found.code, found.severity) == ("HL516", "warning")
    assert found.message.endswith('did not become one Gelu: second reader: Neg "other" reads "e" too')
    assert (found.node, found.tensor) == ('Erf "erf"', "e")
    assert found.fix == "let the second reader take the fused result, or do without it"


def test_a_fused_one_and_a_model_that_was_not_run_have_no_finding() -> None:
    fused = graphs.case(WHOLE.model())
    assert list(gelu_not_fused.find(fused)) == []
    assert list(gelu_not_fused.find(replace(fused, ran=None))) == []


def test_another_order_is_information_with_a_command() -> None:
    (found,) = gelu_not_fused.find(graphs.case(graphs.gelu("half first").model()))
    assert (found.severity, found.fix) == ("info", "hotlap optimize MODEL --fix HL516 -o OUT.onnx")
