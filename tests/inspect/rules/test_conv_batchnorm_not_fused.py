from __future__ import annotations

from dataclasses import replace

from hotlap.inspect.rules import conv_batchnorm_not_fused
from tests.inspect.fusions import graphs

WHOLE = graphs.conv_batchnorm()


def test_a_pattern_with_a_second_reader_is_found() -> None:
    (found,) = conv_batchnorm_not_fused.find(graphs.case(WHOLE.read("c").model()))
    assert (found.code, found.severity) == ("HL511", "warning")
    assert found.message.endswith(
        'did not become a single convolution: second reader: Neg "other" reads "c" too'
    )
    assert (found.node, found.tensor) == ('Conv "conv"', "c")
    assert found.fix == "let the second reader take the fused result, or do without it"


def test_a_fused_one_and_a_model_that_was_not_run_have_no_finding() -> None:
    fused = graphs.case(WHOLE.model())
    assert list(conv_batchnorm_not_fused.find(fused)) == []
    assert list(conv_batchnorm_not_fused.find(replace(fused, ran=None))) == []
