from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

from hotlap.errors import UsageError, VerificationFailed
from hotlap.passes.draft import Draft
from hotlap.passes.mend_batch import MendBatch, rows_lost
from hotlap.passes.step import apply
from tests import tiny
from tests.passes.asking import answers, draft_of, rng_feed

pytestmark = pytest.mark.usefixtures("all_here")


def constant_target(batch: int | str, target: list[int], out: list[Any]) -> onnx.ModelProto:
    """y = (x W) in another shape, the number of rows a constant of it; x: float32[batch, 8]."""
    rng = np.random.default_rng(0)
    return tiny.model(
        [tiny.node("MatMul", ["x", "w"], ["a"]), tiny.node("Reshape", ["a", "shape"], ["y"])],
        [tiny.info("x", T.FLOAT, [batch, 8])],
        [tiny.info("y", T.FLOAT, out)],
        {"w": rng.standard_normal((8, 8), np.float32), "shape": np.array(target, np.int64)},
    )


def assert_rows_agree(before: Draft, after: Draft, feed: dict[str, Any], folder: Path) -> None:
    """Many rows at once in `after` are what single rows are in `before`."""
    (name, rows), *_ = feed.items()
    many = answers(after, feed, folder)
    single = [answers(before, {name: rows[n : n + 1]}, folder) for n in range(len(rows))]
    for output, value in many.items():
        expected = np.concatenate([one[output] for one in single])
        np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("batch", "target", "out"),
    [
        ("batch", [1, 2, 4], ["batch", 2, 4]),  # fails at two rows
        ("batch", [1, -1], ["batch", 8]),  # gives one long row at two rows, in silence
        (1, [1, 2, 4], [1, 2, 4]),  # declared with one row
        ("?", [1, 2, 4], ["?", 2, 4]),  # without a name
    ],
)
def test_a_constant_in_a_reshape(batch: Any, target: list[int], out: list[Any], tmp_path: Path) -> None:
    draft = draft_of(constant_target(batch, target, out), tmp_path)
    applied = apply(draft, [MendBatch()])
    assert f"its target {target} is {[0, *target[1:]]}" in applied.steps[0].notes[-1]
    assert applied.draft.single == {"x"}
    assert_rows_agree(draft, applied.draft, rng_feed(x=(3, 8)), tmp_path)
    dims = applied.draft.proto.graph.output[0].type.tensor_type.shape.dim
    assert dims[0].dim_param == "batch"


def test_two_reshapes_one_behind_the_other_and_a_target_that_others_read(tmp_path: Path) -> None:
    model = constant_target("batch", [1, 2, 4], ["batch", 2, 4])
    model.graph.node[1].output[0] = "b"
    model.graph.node.extend(
        [
            tiny.node("Relu", ["b"], ["c"]),
            tiny.node("Reshape", ["c", "shape"], ["y"]),
            tiny.node("Identity", ["shape"], ["kept"]),
        ]
    )
    model.graph.output.append(tiny.info("kept", T.INT64, [3]))
    draft = draft_of(model, tmp_path)
    # "kept" carries no rows, so the proof cannot tell what to put together.
    with pytest.raises(VerificationFailed, match="does not carry the rows"):
        apply(draft, [MendBatch()])
    del model.graph.output[1], model.graph.node[4]
    mended = apply(draft_of(model, tmp_path), [MendBatch()])
    assert len(mended.steps[0].notes) == 2
    assert_rows_agree(draft_of(model, tmp_path), mended.draft, rng_feed(x=(2, 8)), tmp_path)


def test_rows_that_meet_are_not_mended(tmp_path: Path) -> None:
    model = tiny.model(
        [tiny.node("ReduceMean", ["x"], ["m"], axes=[0], keepdims=1), tiny.node("Sub", ["x", "m"], ["y"])],
        [tiny.info("x", T.FLOAT, [1, 8])],
        [tiny.info("y", T.FLOAT, [1, 8])],
    )
    with pytest.raises(VerificationFailed, match=r"other answers than one by one|does not carry"):
        apply(draft_of(model, tmp_path), [MendBatch()])


def test_a_model_that_takes_rows_already_stays_as_it_is(tmp_path: Path) -> None:
    for model in (tiny.mlp(), constant_target("batch", [-1, 2, 4], ["batch", 2, 4])):
        draft = draft_of(model, tmp_path)
        assert apply(draft, [MendBatch()]).draft is draft
    with pytest.raises(UsageError, match="no input has a first axis"):
        apply(draft_of(tiny.scalar(), tmp_path), [MendBatch()])


@pytest.mark.parametrize(
    ("target", "out", "told"),
    [
        ([1, -1], ["batch", 8], "several rows"),
        ([1, -1], ["?", 8], 'output "y" [?, 8] does not carry the rows'),  # nothing can be compared
        ([0, -1], ["batch", 8], ""),
    ],
)
def test_what_a_later_pass_does_to_several_rows(
    target: list[int], out: list[Any], told: str, tmp_path: Path
) -> None:
    lost = rows_lost(draft_of(constant_target("batch", target, out), tmp_path))
    assert lost.startswith(told) and bool(lost) == bool(told)
    assert rows_lost(draft_of(constant_target(4, target, out), tmp_path, "bound.onnx")) == ""
