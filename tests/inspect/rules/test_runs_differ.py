"""HL105: answers that differ from run to run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from hotlap.inspect.case import Ran
from hotlap.inspect.rules import runs_differ as rule
from hotlap.plan import Facts
from tests import tiny
from tests.inspect.cases import found
from tests.inspect.runs import rows, session, small

DIFFER = Ran(facts=Facts(repeats="differ", repeats_by=0.0312))


def noisy() -> onnx.ModelProto:
    return small(
        [tiny.node("RandomNormalLike", ["x"], ["r"], name="noise"), tiny.node("Add", ["x", "r"], ["y"])]
    )


def dropout(training: bool) -> onnx.ModelProto:
    return small(
        [tiny.node("Dropout", ["x", "ratio", "mode"], ["y"], name="drop")],
        None,
        {"ratio": np.float32(0.5), "mode": np.array(training)},
    )


def repeats(model: onnx.ModelProto) -> bool:
    opened = session(model)
    first, second = (opened.run(None, {"x": rows(4)})[0] for _ in range(2))
    return bool(np.array_equal(first, second))


def test_a_difference_that_nothing_explains_is_a_warning(tmp_path: Path) -> None:
    [one] = found(rule, tiny.mlp(), tmp_path, ran=DIFFER)
    assert one.severity == "warning" and "by up to 0.03 of the output's range" in one.message


@pytest.mark.parametrize(("model", "node"), [(noisy(), "noise"), (dropout(True), "drop")])
def test_random_operators_explain_it(tmp_path: Path, model: onnx.ModelProto, node: str) -> None:
    assert not repeats(model)
    [one] = found(rule, model, tmp_path, ran=DIFFER)
    assert one.severity == "info" and one.node.endswith(f'"{node}"') and "draws random numbers" in one.message


def test_a_dropout_that_is_switched_off_explains_nothing(tmp_path: Path) -> None:
    assert repeats(dropout(False))
    [one] = found(rule, dropout(False), tmp_path, ran=DIFFER)
    assert one.severity == "warning"


def test_equal_and_unknown_say_nothing(tmp_path: Path) -> None:
    for ran in (None, Ran(), Ran(facts=Facts()), Ran(facts=Facts(repeats="equal"))):
        assert found(rule, noisy(), tmp_path, ran=ran) == []
