from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hotlap.errors import TargetFailed, UsageError
from hotlap.passes import face
from hotlap.passes.draft import Draft
from hotlap.passes.step import apply
from hotlap.passes.transformer import Transformer
from tests import tiny
from tests.inspect.fusions import graphs
from tests.passes.asking import answers, assert_same, draft_of, ops, rng_feed
from tests.real import real

pytestmark = pytest.mark.usefixtures("here")


def test_a_real_encoder(tmp_path: Path) -> None:
    model = real("minilm")
    draft = Draft.load(model.path)
    applied = apply(draft, [Transformer()])
    found = ops(applied.draft)
    assert found.count("com.microsoft.Attention") == 3
    assert found.count("com.microsoft.SkipLayerNormalization") == 6
    assert face.differences(draft, applied.draft) == ""
    assert "3 com.microsoft.Attention" in applied.steps[0].notes[1]
    (feed,) = model.feeds(1)
    assert_same(answers(draft, feed, tmp_path), answers(applied.draft, feed, tmp_path), 1e-3)


def test_what_is_no_transformer_says_so(tmp_path: Path) -> None:
    draft = draft_of(tiny.mlp(), tmp_path)
    applied = apply(draft, [Transformer()])
    assert applied.draft is draft
    assert applied.steps[0].notes == ("nothing of a transformer was recognised",)
    with pytest.raises(UsageError, match="multiplies no matrices"):
        apply(draft_of(tiny.add(), tmp_path), [Transformer()])
    with pytest.raises(UsageError, match='no kind "brt"'):
        Transformer("brt")


def test_a_failure_of_the_optimiser_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from onnxruntime.transformers import optimizer

    def failing(*_: object, **__: object) -> None:
        raise AttributeError("'NoneType' object has no attribute 'item'")

    monkeypatch.setattr(optimizer, "optimize_model", failing)
    with pytest.raises(
        TargetFailed, match=r"^transformer: ONNX Runtime's optimiser failed on this graph \(Attr"
    ):
        apply(draft_of(tiny.mlp(), tmp_path), [Transformer()])


def test_axes_of_a_mask_are_given_one_by_one_where_that_changes_nothing(tmp_path: Path) -> None:
    parts = graphs.attention(opset=17)
    both = tiny.node("Unsqueeze", ["mask", "axes"], ["m2"], name="both")
    nodes = tuple(both if "m1" in n.output else n for n in parts.nodes if "m2" not in n.output)
    model = replace(parts, nodes=nodes, weights={**parts.weights, "axes": np.array([2, 1])}).model()
    draft = draft_of(model, tmp_path)
    made = apply(draft, [Transformer()]).draft
    assert "com.microsoft.Attention" in ops(made)
    mask = np.array([[1, 1, 0], [1, 1, 1]])
    feed = {**rng_feed(x0=(2, 3, 16)), "mask": mask}
    assert_same(answers(draft, feed, tmp_path), answers(made, feed, tmp_path), 1e-4)


# ── PyTorch's two exporters (exported/make.py) ────────────────────────────────────────────────────────

EXPORTED = Path(__file__).parent / "exported"
LAYERS = {"com.microsoft.BiasGelu": 2, "com.microsoft.SkipLayerNormalization": 4}


def sentences(rows: int, length: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    mask = np.arange(length)[None] < rng.integers(1, length + 1, (rows, 1))
    return {"ids": rng.integers(0, 50, (rows, length)), "mask": mask.astype(np.int64)}


@pytest.mark.parametrize(
    ("name", "fused"),
    [
        ("by_hand_legacy", {"com.microsoft.Attention": 2, **LAYERS}),
        ("by_hand_dynamo", {"com.microsoft.Attention": 2, **LAYERS}),
        ("torch_layers_dynamo", LAYERS),  # one matrix for query, key and value, split: not known
    ],
)
def test_what_is_recognised(name: str, fused: dict[str, int], tmp_path: Path) -> None:
    draft = Draft.load(EXPORTED / f"{name}.onnx")
    applied = apply(draft, [Transformer()])
    told = ", ".join(f"{count} {op}" for op, count in sorted(fused.items()))
    assert applied.steps[0].notes[1] == f"new: {told}"
    assert face.differences(draft, applied.draft) == ""
    for rows, length in ((3, 7), (1, 4), (2, 12)):
        feed = sentences(rows, length)
        assert_same(answers(draft, feed, tmp_path), answers(applied.draft, feed, tmp_path), 1e-3)


def test_what_is_not_recognised_is_told_and_left(tmp_path: Path) -> None:
    draft = Draft.load(EXPORTED / "torch_layers_legacy.onnx")
    applied = apply(draft, [Transformer()])
    assert applied.draft is draft
    assert applied.steps[0].notes == ("nothing of a transformer was recognised",)


def test_both_exporters_say_the_same(tmp_path: Path) -> None:
    """The two files of a module hold the same weights, so the fused ones answer alike as well."""
    feed = sentences(3, 7)
    given = [
        answers(apply(Draft.load(EXPORTED / f"by_hand_{n}.onnx"), [Transformer()]).draft, feed, tmp_path)
        for n in ("legacy", "dynamo")
    ]
    assert_same(*given, 1e-3)
