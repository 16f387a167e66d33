from __future__ import annotations

import onnx
import pytest

from hotlap.model.operators import known, optional_outputs, since


@pytest.mark.parametrize(
    ("op", "domain", "opset", "state"),
    [
        ("Add", "", 17, "known"),
        ("Add", "ai.onnx", 17, "known"),
        ("Gelu", "", 19, "unknown"),
        ("Gelu", "", 20, "known"),
        ("Upsample", "", 9, "known"),
        ("Upsample", "", 10, "removed"),
        ("ZipMap", "ai.onnx.ml", 1, "known"),
        ("Nothing", "ai.onnx.ml", 1, "unknown"),
        ("Nothing", "", onnx.defs.onnx_opset_version(), "unknown"),
        ("Nothing", "", onnx.defs.onnx_opset_version() + 1, "too new"),
        ("Add", "", 2**40, "too new"),
    ],
)
def test_an_operator_is_known_at_its_opset(op: str, domain: str, opset: int, state: str) -> None:
    assert known(op, domain, opset) == state


def test_the_form_of_an_operator_has_an_opset() -> None:
    assert (since("Identity", "", 24), since("Identity", "", 16), since("Nothing", "", 16)) == (24, 16, None)


def test_outputs_that_may_be_left_out() -> None:
    assert optional_outputs("MaxPool", "", 17) == {1}
    assert optional_outputs("TopK", "", 17) == frozenset()
    assert optional_outputs("Nothing", "", 17) == frozenset()
