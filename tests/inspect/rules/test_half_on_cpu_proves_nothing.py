"""HL206: half precision that the CPU provider computes in float32, seen in the graph that it executes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto as T

from hotlap.inspect.case import Ran
from hotlap.inspect.half import in_half
from hotlap.inspect.rules import half_on_cpu_proves_nothing as rule
from hotlap.model.walk import Walk
from tests import tiny
from tests.inspect.cases import found
from tests.inspect.rules.test_half_overflows import norm
from tests.inspect.runs import executed, run


def test_the_cpu_gives_what_real_half_precision_cannot(tmp_path: Path) -> None:
    x = np.full((1, 8), 300, np.float16)
    with np.errstate(over="ignore"):
        assert np.isinf(x * x).all()
    assert np.allclose(run(norm(), x=x)[0], 1)
    [one] = found(rule, norm(), tmp_path)
    assert (one.severity, one.node) == ("info", 'Mul "square"')
    assert one.message.startswith("4 nodes of the file are in float16; the CPU provider computes nearly all")


def test_what_is_executed_is_looked_at(tmp_path: Path) -> None:
    walk = executed(norm(), tmp_path)
    [one] = found(rule, norm(), tmp_path, ran=Ran(executed=walk))
    left = len(in_half(walk))  # on x86 none; some ARM processors have half-precision kernels
    assert ("computes all of them in float32" in one.message) == (left == 0)
    assert list(walk.nodes("Cast")) or left


def test_half_precision_that_stays_is_counted(tmp_path: Path) -> None:
    [one] = found(rule, norm(), tmp_path, ran=Ran(executed=Walk(norm())))
    assert "ORT executes 4 of its nodes in float16 here" in one.message


def test_float32_is_left_alone(tmp_path: Path) -> None:
    assert found(rule, tiny.mlp(), tmp_path) == []
    assert found(rule, norm(T.FLOAT), tmp_path) == []
