from __future__ import annotations

from dataclasses import replace

from hotlap.inspect.rules import layernorm_not_fused
from tests.inspect.fusions import graphs

WHOLE = graphs.layer_norm()


def test_a_pattern_with_a_second_reader_is_found() -> None:
    (found,) = layernorm_not_fused.find(graphs.case(WHOLE.read("nrm").model()))
    assert (found.code, found.severity) == ("HL514", "warning")
    assert found.message.endswith(
        'did not become one LayerNormalization: second reader: Neg "other" reads "nrm" too'
    )
    assert (found.node, found.tensor) == ('ReduceMean "n_mean"', "nrm")
    assert found.fix == "let the second reader take the fused result, or do without it"


def test_a_fused_one_and_a_model_that_was_not_run_have_no_finding() -> None:
    fused = graphs.case(WHOLE.model())
    assert list(layernorm_not_fused.find(fused)) == []
    assert list(layernorm_not_fused.find(replace(fused, ran=None))) == []
