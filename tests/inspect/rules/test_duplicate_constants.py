from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto as T

from hotlap.inspect.rules import duplicate_constants
from tests import tiny
from tests.inspect.cases import found


def chain(*weights: object) -> onnx.ModelProto:
    names = [f"v{n}" for n in range(len(weights))]
    nodes = [
        tiny.node("MatMul", [before, f"w{n}"], [name])
        for n, (before, name) in enumerate(zip(["x", *names], names, strict=False))
    ]
    return tiny.model(
        nodes,
        [tiny.info("x", T.FLOAT, ["N", 128])],
        [tiny.info(names[-1], T.FLOAT, None)],
        {f"w{n}": w for n, w in enumerate(weights)},
    )


def square(seed: int) -> object:
    return np.random.default_rng(seed).standard_normal((128, 128)).astype(np.float32)


def test_equal_weights_are_found(tmp_path: Path) -> None:
    (finding,) = found(duplicate_constants, chain(square(0), square(0), square(0), square(1)), tmp_path)
    assert (finding.severity, finding.tensor) == ("warning", "w0")
    assert finding.message == '3 equal tensors float32[128, 128]: "w0", "w1", "w2"'
    assert finding.cost == "131,072 bytes in the file and in memory"
    assert finding.fix == "hotlap optimize MODEL --fix HL410 -o OUT.onnx"


def test_many_groups_are_summed_up(tmp_path: Path) -> None:
    twice = [w for seed in range(7) for w in (square(seed), square(seed))]
    findings = found(duplicate_constants, chain(*twice), tmp_path)
    assert len(findings) == 6
    assert (findings[-1].message, findings[-1].cost) == (
        "2 more groups of equal tensors",
        "131,072 bytes in the file and in memory",
    )


def test_small_or_different_weights_are_none(tmp_path: Path) -> None:
    assert found(duplicate_constants, chain(square(0), square(1)), tmp_path) == []
    small = np.ones((128, 8), np.float32)
    assert found(duplicate_constants, chain(small, small), tmp_path) == []
