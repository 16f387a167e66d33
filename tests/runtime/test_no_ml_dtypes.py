"""Models that give a type which numpy lacks, where ml_dtypes is not installed."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import hotlap
from hotlap.errors import Unavailable
from hotlap.runtime.packed import ForeignTensor
from hotlap.runtime.prebinding import read_state
from hotlap.runtime.probe.tries import Tries
from tests import tiny

T = onnx.TensorProto


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    built = tiny.model(
        [tiny.node("Cast", ["x"], ["y"], to=T.BFLOAT16)],
        [tiny.info("x", T.FLOAT, ["N"])],
        [tiny.info("y", T.BFLOAT16, ["N"])],
    )
    return tiny.save(built, tmp_path / "m.onnx")


@pytest.mark.thread_unsafe(reason="it hides a module")
def test_it_opens_and_is_warmed(model: Path) -> None:
    with hotlap.open(model, threads=1) as runner:
        assert runner.notes == ()
        with pytest.raises(Unavailable, match="pip install ml-dtypes"):
            runner.run({"x": np.ones(2, np.float32)})


@pytest.mark.thread_unsafe(reason="it hides a module")
def test_probing_is_told_why_it_does_not_run(model: Path) -> None:
    with hotlap.open(model, threads=1, warm=False) as runner:
        answers, why = Tries(runner, 5.0).run({"x": np.ones(2, np.float32)})
        assert answers == {} and "pip install ml-dtypes" in why


def test_a_state_may_begin_as_another_library_s_tensor(tmp_path: Path) -> None:
    import onnxruntime

    bf16, x = T.BFLOAT16, tiny.info("x", T.FLOAT, ["N"])
    nodes = [tiny.node("Cast", ["s"], ["y"], to=T.FLOAT), tiny.node("Cast", ["x"], ["t"], to=bf16)]
    built = tiny.model(
        nodes,
        [x, tiny.info("s", bf16, ["N"])],
        [tiny.info("y", T.FLOAT, ["N"]), tiny.info("t", bf16, ["N"])],
    )
    runner = hotlap.open(tiny.save(built, tmp_path / "m.onnx"), threads=1, warm=False)
    one = np.array([0x3F80, 0x4000], np.uint16)
    value = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(one, bf16)
    lent = ForeignTensor(value, one)
    stream = runner.stateful({"s": "t"})
    stream._initial["s"] = lent
    assert stream.run({"x": np.array([3, 4], np.float32)})["y"].tolist() == [1, 2]
    assert stream.run({"x": np.array([5, 6], np.float32)})["y"].tolist() == [3, 4]
    assert read_state(lent) is value
