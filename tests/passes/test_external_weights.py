from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx

from hotlap.model.reference import reference
from hotlap.passes.draft import Draft
from hotlap.passes.external_weights import ALIGNED, ExternalWeights, gathered
from hotlap.passes.step import apply
from tests import tiny
from tests.passes.asking import answers, assert_same, draft_of, rng_feed
from tests.real import real


def test_large_weights_move_out_aligned_and_small_ones_stay(tmp_path: Path) -> None:
    draft = draft_of(tiny.mlp(hidden=256), tmp_path)
    applied = apply(draft, [ExternalWeights()])
    outside = {t.name: reference(t) for t in applied.draft.external()}
    assert outside.keys() == {"w1", "w2", "b1"}
    assert all(place.offset % ALIGNED == 0 for place in outside.values())
    assert len(applied.draft.data) < 1500
    feed = rng_feed(x=(2, 16))
    assert_same(answers(draft, feed, tmp_path), answers(applied.draft, feed, tmp_path))
    assert apply(applied.draft, [ExternalWeights()]).draft is applied.draft


def test_numbers_that_are_spelt_out_move_too(tmp_path: Path) -> None:
    model = tiny.add()
    model.graph.node[0].input[1] = "w"
    numbers = np.arange(20, dtype=np.float32)
    model.graph.initializer.append(onnx.helper.make_tensor("w", 1, [5, 4], numbers))
    assert not model.graph.initializer[0].HasField("raw_data")
    draft = draft_of(model, tmp_path)
    out = apply(draft, [ExternalWeights(0)]).draft
    assert sum(1 for _ in out.external()) == 1
    feed = rng_feed(x=(5, 4))
    expected = feed["x"] + numbers.reshape(5, 4)
    np.testing.assert_array_equal(answers(out, feed, tmp_path)["y"], expected)


def test_sizes_and_axes_stay_where_the_runtime_reads_them(tmp_path: Path) -> None:
    draft = draft_of(tiny.gather_mask(), tmp_path)
    out = apply(draft, [ExternalWeights(0)]).draft
    assert [t.name for t in out.external()] == ["table"]
    feed = {name: np.ones((2, 3), np.int64) for name in ("ids", "mask")}
    assert_same(answers(draft, feed, tmp_path), answers(out, feed, tmp_path))


def test_weights_of_several_files_are_gathered_in_one(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save_model(
        tiny.mlp(), path, save_as_external_data=True, all_tensors_to_one_file=False, size_threshold=0
    )
    draft = Draft.load(path)
    assert len(draft.files) == 4
    one = gathered(draft, 0)
    assert len(one.files) == 1
    feed = rng_feed(x=(2, 16))
    assert_same(answers(draft, feed, tmp_path), answers(one, feed, tmp_path))


def test_text_cannot_move(tmp_path: Path) -> None:
    model = tiny.model(
        [tiny.node("Identity", ["w"], ["y"])],
        [],
        [tiny.info("y", 8, [2])],
        {"w": np.array(["a", "b"], object)},
    )
    draft = draft_of(model, tmp_path)
    assert apply(draft, [ExternalWeights(0)]).draft is draft


def test_a_real_model(tmp_path: Path) -> None:
    model = real("ocr-rec")
    draft = Draft.load(model.path)
    out = apply(draft, [ExternalWeights()]).draft
    assert len(out.data) < len(draft.data) / 20
    (feed,) = model.feeds(1)
    assert_same(answers(draft, feed, tmp_path), answers(out, feed, tmp_path))
