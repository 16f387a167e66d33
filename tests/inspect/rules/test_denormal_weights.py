"""HL202: denormal weights, counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hotlap.inspect.rules import denormal_weights as rule
from tests import tiny
from tests.inspect.cases import found
from tests.inspect.runs import small


def holding(weights: Any) -> Any:
    return small([tiny.node("MatMul", ["x", "w"], ["y"])], None, {"w": weights})


def test_they_are_counted_by_weight(tmp_path: Path) -> None:
    weights = np.ones((8, 8), np.float32)
    weights[:2] = np.float32(1e-39)
    [one] = found(rule, holding(weights), tmp_path)
    assert (one.severity, one.tensor) == ("warning", "w")
    assert one.message == "16 of 64 numbers of w are denormal (25 %)"
    assert "--fix HL202" in one.fix and one.cost


def test_a_few_in_many_are_for_information(tmp_path: Path) -> None:
    weights = np.ones((8, 50_000), np.float32)
    weights[0, :3] = -1e-40
    [one] = found(rule, holding(weights), tmp_path)
    assert one.severity == "info" and one.message == "3 of 400,000 numbers of w are denormal (0.00075 %)"


def test_the_weight_with_the_most_comes_first(tmp_path: Path) -> None:
    model = small(
        [tiny.node("MatMul", ["x", "a"], ["m"]), tiny.node("MatMul", ["m", "b"], ["y"])],
        None,
        {"a": np.eye(8, dtype=np.float32) * np.float32(1e-39), "b": np.full((8, 8), 1e-39, np.float32)},
    )
    assert [f.tensor for f in found(rule, model, tmp_path)] == ["b", "a"]


@pytest.mark.parametrize("weights", [np.zeros((8, 8), np.float32), np.full((8, 8), 1.2e-38, np.float32)])
def test_zeros_and_small_normal_numbers_are_left_alone(tmp_path: Path, weights: Any) -> None:
    assert found(rule, holding(weights), tmp_path) == []


def test_half_precision_computes_them_as_ordinary_numbers(tmp_path: Path) -> None:
    assert found(rule, holding(np.full((8, 8), 1e-6, np.float16)), tmp_path) == []


@pytest.mark.parametrize(
    ("count", "last"),
    [
        (5, "4 of 8 numbers of w4 are denormal (50 %)"),
        (6, "1 more weight holds 3 denormal numbers: w5"),
        (7, "2 more weights hold 5 denormal numbers: w5, w6"),
    ],
)
def test_after_five_weights_the_others_are_told_together(tmp_path: Path, count: int, last: str) -> None:
    names = ["x", *(f"h{n}" for n in range(count - 1)), "y"]
    nodes = [tiny.node("Add", [names[n], f"w{n}"], [names[n + 1]]) for n in range(count)]
    weights = {f"w{n}": np.array([1e-39] * (8 - n) + [1] * n, np.float32) for n in range(count)}
    told = found(rule, small(nodes, None, weights), tmp_path)
    assert len(told) == min(count, 6)
    assert told[-1].message == last and {f.severity for f in told} == {"warning"}
    assert {f.fix for f in told} == {rule.RULE.mend}
