from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto as T

from hotlap.errors import UsageError
from hotlap.passes import face, fuse
from hotlap.passes.draft import Draft
from hotlap.passes.fuse import Fuse
from hotlap.passes.step import apply
from tests import tiny
from tests.passes.asking import answers, assert_same, draft_of, ops, rng_feed
from tests.real import real

pytestmark = pytest.mark.usefixtures("here")


def conv_bn_relu() -> object:
    rng = np.random.default_rng(0)
    four = {k: rng.random(4, np.float32) + 0.5 for k in ("s", "b", "m", "v")}
    return tiny.model(
        [
            tiny.node("Conv", ["x", "k"], ["c"], pads=[1, 1, 1, 1]),
            tiny.node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"]),
            tiny.node("Relu", ["n"], ["y"]),
        ],
        [tiny.info("x", T.FLOAT, ["N", 3, 8, 8])],
        [tiny.info("y", T.FLOAT, ["N", 4, 8, 8])],
        {"k": rng.standard_normal((4, 3, 3, 3), np.float32), **four},
    )


@pytest.mark.parametrize(
    ("level", "left"), [("basic", ["Conv", "Relu"]), ("extended", ["com.microsoft.FusedConv"])]
)
def test_levels(level: str, left: list[str], tmp_path: Path) -> None:
    draft = draft_of(conv_bn_relu(), tmp_path)  # type: ignore[arg-type]
    applied = apply(draft, [Fuse(level)])  # type: ignore[arg-type]
    assert ops(applied.draft) == left
    assert face.differences(draft, applied.draft) == ""
    domains = {"basic": [""], "extended": ["", "com.microsoft"]}
    assert sorted(o.domain for o in applied.draft.proto.opset_import) == domains[level]
    assert applied.draft.proto.ir_version == draft.proto.ir_version
    feed = rng_feed(x=(2, 3, 8, 8))
    assert_same(answers(draft, feed, tmp_path), answers(applied.draft, feed, tmp_path), 1e-4)


def test_no_level_that_fits_one_cpu_alone() -> None:
    with pytest.raises(UsageError, match='no level "all"; there are basic, extended'):
        Fuse("all")  # type: ignore[arg-type]


def test_nothing_to_fuse_leaves_the_bytes(tmp_path: Path) -> None:
    draft = draft_of(tiny.mlp(), tmp_path)
    assert apply(draft, [Fuse()]).draft is draft
    once = apply(draft, [Fuse("extended")]).draft
    assert apply(once, [Fuse("extended")]).draft is once


def test_a_real_model(tmp_path: Path) -> None:
    model = real("ocr-cls")
    draft = Draft.load(model.path)
    fused = apply(draft, [Fuse()]).draft
    assert "BatchNormalization" in ops(draft) and "BatchNormalization" not in ops(fused)
    (feed,) = model.feeds(1)
    assert_same(answers(draft, feed, tmp_path), answers(fused, feed, tmp_path), 1e-4)


def test_weights_of_8_bits_stay_so(tmp_path: Path) -> None:
    draft = Draft.load(real("minilm-int8").path)
    fused = apply(draft, [Fuse("extended")]).draft
    assert fused.node_count() < draft.node_count()
    assert len(fused.data) < 1.05 * len(draft.data)


@pytest.mark.parametrize("weights", ["fused.data", "result.onnx", "source.onnx", "./source.data"])
def test_weights_of_any_name_are_left_as_they_are(
    weights: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuse, "BESIDE", 0)
    draft = Draft.load(tiny.mlp_external(tmp_path, weights=weights))
    before = (tmp_path / weights).read_bytes()
    once = apply(draft, [Fuse("extended")]).draft
    assert (tmp_path / weights).read_bytes() == before
    twice = apply(once, [Fuse("extended"), Fuse()]).draft
    feed = rng_feed(x=(2, 16))
    assert_same(answers(draft, feed, tmp_path), answers(twice, feed, tmp_path), 1e-4)
    assert_same(answers(draft, feed, tmp_path), answers(once, feed, tmp_path), 1e-4)
