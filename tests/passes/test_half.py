from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

from hotlap.errors import UsageError
from hotlap.passes import named_pass, optimize
from hotlap.passes.draft import Draft
from hotlap.passes.half import Half
from hotlap.passes.step import apply
from tests import tiny
from tests.passes.asking import draft_of, rng_feed
from tests.real import real

pytestmark = pytest.mark.usefixtures("here")


def rms_norm() -> onnx.ModelProto:
    """y = (x / sqrt(mean(x²) + 1e-12)) W; x: float32[N, 8]."""
    return tiny.model(
        [
            tiny.node("Mul", ["x", "x"], ["s"], name="square"),
            tiny.node("ReduceMean", ["s"], ["v"], name="mean", axes=[1], keepdims=1),
            tiny.node("Add", ["v", "eps"], ["ve"], name="add"),
            tiny.node("Sqrt", ["ve"], ["r"], name="root"),
            tiny.node("Div", ["x", "r"], ["d"], name="divide"),
            tiny.node("MatMul", ["d", "w"], ["y"], name="multiply"),
        ],
        [tiny.info("x", T.FLOAT, ["N", 8])],
        [tiny.info("y", T.FLOAT, ["N", 8])],
        {"eps": np.array([1e-12], np.float32), "w": np.eye(8, dtype=np.float32)},
    )


def halves(draft: Draft) -> set[str]:
    """Names of nodes whose first output is float16."""
    inferred = onnx.shape_inference.infer_shapes(draft.proto).graph
    types = {v.name: v.type.tensor_type.elem_type for v in (*inferred.value_info, *inferred.output)}
    return {
        n.name for n in draft.proto.graph.node if types.get(n.output[0]) == T.FLOAT16 and n.op_type != "Cast"
    }


def feeds(size: float, count: int = 8) -> list[dict[str, Any]]:
    return [{"x": f["x"] * np.float32(size)} for f in (rng_feed(n, x=(1, 8)) for n in range(count))]


def test_a_constant_that_it_would_lose_stays(tmp_path: Path) -> None:
    applied = apply(draft_of(rms_norm(), tmp_path), [Half(feeds(1))])
    assert halves(applied.draft) == {"square", "mean", "root", "divide", "multiply"}
    assert any('"eps" holds nothing above 1e-12' in note for note in applied.steps[0].notes)


def test_what_would_overflow_stays(tmp_path: Path) -> None:
    applied = apply(draft_of(rms_norm(), tmp_path), [Half(feeds(300))])
    assert halves(applied.draft) == {"divide", "multiply"}
    assert any('"s" reaches' in note for note in applied.steps[0].notes)


def test_what_is_too_small_and_what_divides_by_it_stays(tmp_path: Path) -> None:
    for size, kept in ((1e-4, {"square", "mean", "add", "root"}), (1e-2, {"add", "root"})):
        applied = apply(draft_of(rms_norm(), tmp_path), [Half(feeds(size))])
        assert "multiply" in halves(applied.draft)
        assert not halves(applied.draft) & kept


def test_inputs_are_needed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="half: it needs your inputs"):
        apply(draft_of(rms_norm(), tmp_path), [Half()])


def test_a_real_model_is_half_as_large_and_close(tmp_path: Path) -> None:
    model = real("ocr-cls")
    found = optimize(
        model.path,
        [named_pass("fuse"), named_pass("half")],
        tmp_path / "out.onnx",
        data=model.feeds(16),
        level="close",
        measure=False,
    )
    assert found.written, found.reason
    assert found.size < 0.7 * found.size_before
    assert found.verdict is not None and found.verdict.level == "close"
