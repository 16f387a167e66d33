"""HL103: models that take one row."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto as T

from hotlap.inspect.rules import batch_fixed_at_one as rule
from tests import tiny
from tests.inspect.cases import found


def pair(first: list[int | str], second: list[int | str], out: list[int | str]) -> onnx.ModelProto:
    return tiny.model(
        [tiny.node("Add", ["a", "b"], ["y"])],
        [tiny.info("a", T.FLOAT, first), tiny.info("b", T.FLOAT, second)],
        [tiny.info("y", T.FLOAT, out)],
    )


def test_one_row_in_and_out(tmp_path: Path) -> None:
    [one] = found(rule, pair([1, 8], [1, 8], [1, 8]), tmp_path)
    assert (one.severity, one.tensor) == ("warning", "a")
    assert one.message == "axis 0 of input a (and of 1 more) is fixed at 1: every row needs a call of its own"
    assert "--fix HL103" in one.fix


def test_a_setting_beside_the_rows_does_not_matter(tmp_path: Path) -> None:
    for shape in ([], [1], [3]):
        assert len(found(rule, pair([1, 8], shape, [1, 8]), tmp_path)) == 1


@pytest.mark.parametrize(
    "model",
    [
        pair(["n", 8], ["n", 8], ["n", 8]),
        pair([1, 8], ["n", 8], ["n", 8]),
        pair([1, 8], [4, 8], [4, 8]),
        pair([1, 8], [1, 8], [8, 1]),
        tiny.scalar(),
        tiny.text(),
    ],
)
def test_others(tmp_path: Path, model: onnx.ModelProto) -> None:
    assert found(rule, model, tmp_path) == []
