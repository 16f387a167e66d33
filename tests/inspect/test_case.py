from __future__ import annotations

from pathlib import Path

from hotlap.inspect.case import Ran, Range, Runtime
from tests import tiny
from tests.inspect.cases import case_of


def test_a_case_that_was_not_run_says_so(tmp_path: Path) -> None:
    case = case_of(tiny.mlp(), tmp_path)
    assert case.ran is None
    assert set(case.weights) == {"w1", "b1", "w2", "b2"}
    assert [node.op for node in case.walk.nodes()] == ["Gemm", "Relu", "Gemm"]


def test_what_is_not_told_is_unknown() -> None:
    assert Runtime(ort="9.9").max_opset is None
    assert Ran().facts is None and Ran().executed is None and Ran().ranges == {}
    assert Range(0.0, 1.0).finite
