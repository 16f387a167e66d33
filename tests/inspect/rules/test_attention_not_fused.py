from __future__ import annotations

from dataclasses import replace

from hotlap.inspect.rules import attention_not_fused
from tests.inspect.fusions import graphs

WHOLE = graphs.attention()


def test_a_pattern_with_a_second_reader_is_found() -> None:
    (found,) = attention_not_fused.find(graphs.case(WHOLE.read("p").model()))
    assert (found.code, found.severity) == ("HL517", "warning")
    assert found.message.endswith('did not become one Attention: second reader: Neg "other" reads "p" too')
    assert (found.node, found.tensor) == ('Softmax "softmax"', "p")
    assert found.fix == "let the second reader take the fused result, or do without it"


def test_a_fused_one_and_a_model_that_was_not_run_have_no_finding() -> None:
    fused = graphs.case(WHOLE.model())
    assert list(attention_not_fused.find(fused)) == []
    assert list(attention_not_fused.find(replace(fused, ran=None))) == []


def test_an_opset_that_ort_does_not_look_for_has_a_command() -> None:
    (found,) = attention_not_fused.find(graphs.case(graphs.attention(opset=13).model()))
    assert "opset too high: the file is of opset 13" in found.message
    assert (found.severity, found.fix) == ("warning", "hotlap optimize MODEL --fix HL517 -o OUT.onnx")
