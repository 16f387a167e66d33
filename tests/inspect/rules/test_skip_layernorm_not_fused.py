from __future__ import annotations

from dataclasses import replace

from hotlap.inspect.rules import skip_layernorm_not_fused
from tests.inspect.fusions import graphs

WHOLE = graphs.skip_layer_norm()


def test_a_pattern_with_a_second_reader_is_found() -> None:
    (found,) = skip_layernorm_not_fused.find(graphs.case(WHOLE.read("a").model()))
    assert (found.code, found.severity) == ("HL515", "warning")
    assert found.message.endswith(
        'did not become one SkipLayerNormalization: second reader: Neg "other" reads "a" too'
    )
    assert (found.node, found.tensor) == ('Add "add"', "a")
    assert found.fix == "hotlap optimize MODEL --fix HL515 -o OUT.onnx"


def test_a_fused_one_and_a_model_that_was_not_run_have_no_finding() -> None:
    fused = graphs.case(WHOLE.model())
    assert list(skip_layernorm_not_fused.find(fused)) == []
    assert list(skip_layernorm_not_fused.find(replace(fused, ran=None))) == []
