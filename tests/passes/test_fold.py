from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

from hotlap.passes import face, fold
from hotlap.passes.draft import Draft
from hotlap.passes.fold import MOST_MADE, Fold
from hotlap.passes.step import apply
from tests import tiny
from tests.passes.asking import answers, assert_same, draft_of, ops, rng_feed
from tests.real import real

pytestmark = pytest.mark.usefixtures("here")


def shape_arithmetic() -> onnx.ModelProto:
    """y = x in rows of 8, with its target computed from constants; x: float32[N, 2, 4]."""
    return tiny.model(
        [
            tiny.node("Constant", [], ["two"], value=onnx.numpy_helper.from_array(np.array([2], np.int64))),
            tiny.node("Mul", ["two", "four"], ["eight"]),
            tiny.node("Concat", ["minus", "eight"], ["target"], axis=0),
            tiny.node("Reshape", ["x", "target"], ["r"]),
            tiny.node("Identity", ["r"], ["y"]),
        ],
        [tiny.info("x", T.FLOAT, ["N", 2, 4])],
        [tiny.info("y", T.FLOAT, ["N", 8])],
        {"four": np.array([4], np.int64), "minus": np.array([-1], np.int64)},
    )


def test_constants_are_computed_and_the_face_stays(tmp_path: Path) -> None:
    draft = draft_of(shape_arithmetic(), tmp_path)
    applied = apply(draft, [Fold()])
    assert ops(applied.draft) == ["Reshape"]
    assert applied.steps[0].notes == ("5 nodes became 1",)
    assert face.differences(draft, applied.draft) == ""
    feed = rng_feed(x=(3, 2, 4))
    assert_same(answers(draft, feed, tmp_path), answers(applied.draft, feed, tmp_path))


def test_where_there_is_nothing_to_fold_the_bytes_stay(tmp_path: Path) -> None:
    draft = draft_of(tiny.mlp(), tmp_path)
    applied = apply(draft, [Fold()])
    assert applied.draft is draft and applied.steps[0].notes == ("nothing to fold",)
    once = apply(draft_of(shape_arithmetic(), tmp_path), [Fold()]).draft
    assert apply(once, [Fold()]).draft is once


def test_a_wrong_declared_shape_is_not_believed(tmp_path: Path) -> None:
    model = shape_arithmetic()
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 4  # a lie
    model.graph.value_info.append(tiny.info("r", T.FLOAT, ["N", 4]))
    draft = draft_of(model, tmp_path)
    feed = rng_feed(x=(3, 2, 4))
    folded = apply(draft, [Fold()]).draft
    assert ops(folded) == ["Reshape"]
    assert answers(folded, feed, tmp_path)["y"].shape == (3, 8)


def test_no_constant_grows_beyond_bounds(tmp_path: Path) -> None:
    side = 2 * MOST_MADE
    model = tiny.model(
        [tiny.node("Tile", ["w", "times"], ["t"]), tiny.node("Add", ["x", "t"], ["y"])],
        [tiny.info("x", T.FLOAT, [side])],
        [tiny.info("y", T.FLOAT, [side])],
        {"w": np.ones(2, np.float32), "times": np.array([side // 2], np.int64)},
    )
    draft = draft_of(model, tmp_path)
    folded = apply(draft, [Fold()]).draft
    assert len(folded.data) < 2 * len(draft.data)


def test_weights_in_files_stay_there_unread(tmp_path: Path) -> None:
    path = tiny.mlp_external(tmp_path)
    model = onnx.load(path, load_external_data=False)
    model.graph.node.append(tiny.node("Identity", ["y"], ["z"]))
    model.graph.output[0].name = "z"
    draft = draft_of(model, tmp_path)
    folded = apply(draft, [Fold()]).draft
    assert ops(folded) == ["Gemm", "Relu", "Gemm"]
    assert sum(1 for _ in folded.external()) == 4
    feed = rng_feed(x=(2, 16))
    assert_same(answers(draft, feed, tmp_path), answers(folded, feed, tmp_path))


@pytest.mark.parametrize(("name", "most"), [("ocr-cls", 250), ("silero", 150)])
def test_real_models_lose_most_nodes_and_answer_the_same(name: str, most: int, tmp_path: Path) -> None:
    model = real(name)
    draft = Draft.load(model.path)
    folded = apply(draft, [Fold()]).draft
    assert draft.node_count() > 500 and folded.node_count() < most
    assert face.differences(draft, folded) == ""
    (feed,) = model.feeds(1)
    assert_same(answers(draft, feed, tmp_path), answers(folded, feed, tmp_path))


def test_a_file_that_declares_its_output_wrong_is_folded_right(tmp_path: Path) -> None:
    model = real("ddddocr")  # declared [1, seqlen], answers with three axes
    draft = Draft.load(model.path)
    folded = apply(draft, [Fold()]).draft
    assert folded.node_count() < draft.node_count()
    (feed,) = model.feeds(1)
    assert_same(answers(draft, feed, tmp_path), answers(folded, feed, tmp_path))


def test_without_its_library_it_is_left_out_with_the_pip_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fold, "find_spec", lambda name: None)
    draft = draft_of(shape_arithmetic(), tmp_path)
    applied = apply(draft, [Fold()], strict=False)
    assert applied.steps[0].notes == ("left out: it needs an extra: pip install 'hotlap[optimize]'",)


def test_what_changed_is_told_and_no_more(tmp_path: Path) -> None:
    one = np.ones(2, np.float32)
    model = tiny.model(
        [tiny.node("Add", ["x", "a"], ["n"]), tiny.node("Mul", ["n", "b"], ["y"])],
        [tiny.info("x", T.FLOAT, ["N", 2])],
        [tiny.info("y", T.FLOAT, ["N", 2])],
        {"a": 2 * one, "b": 2 * one},
    )
    notes = apply(draft_of(model, tmp_path), [Fold()]).steps[0].notes
    assert notes == ("2 weights became 1",)
