from __future__ import annotations

from dataclasses import replace

from hotlap.inspect.rules import matmul_add_not_fused
from tests.inspect.fusions import graphs

WHOLE = graphs.matmul_add()


def test_a_pattern_with_a_second_reader_is_found() -> None:
    (found,) = matmul_add_not_fused.find(graphs.case(WHOLE.read("h").model()))
    assert (found.code, found.severity) == ("HL513", "warning")
    assert found.message.endswith('did not become one Gemm: second reader: Neg "other" reads "h" too')
    assert (found.node, found.tensor) == ('MatMul "matmul"', "h")
    assert found.fix == "let the second reader take the fused result, or do without it"


def test_a_fused_one_and_a_model_that_was_not_run_have_no_finding() -> None:
    fused = graphs.case(WHOLE.model())
    assert list(matmul_add_not_fused.find(fused)) == []
    assert list(matmul_add_not_fused.find(replace(fused, ran=None))) == []
