from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

from hotlap.passes.draft import Draft
from hotlap.passes.gelu import Gelu
from hotlap.passes.step import apply
from tests import tiny
from tests.inspect.fusions import graphs
from tests.passes.asking import answers, assert_same, draft_of, ops, rng_feed
from tests.real import real

pytestmark = pytest.mark.usefixtures("here")
FUSED = {"Gelu": 1}


@pytest.mark.parametrize("form", ["half first", "reciprocal"])
def test_an_order_that_is_not_fused_becomes_one_that_is(form: str, tmp_path: Path) -> None:
    model = graphs.gelu(form).model()
    assert graphs.ops(model) != FUSED
    draft = draft_of(model, tmp_path)
    applied = apply(draft, [Gelu()])
    assert applied.steps[0].notes == ("1 Gelu is written as ONNX Runtime looks for it",)
    assert ops(applied.draft) == ["Div", "Erf", "Add", "Mul", "Mul"]
    assert graphs.ops(applied.draft.proto) == FUSED
    feed = rng_feed(x=(2, 3, 8))
    assert_same(answers(draft, feed, tmp_path), answers(applied.draft, feed, tmp_path))


@pytest.mark.parametrize(
    "parts",
    [
        graphs.gelu("half last"),  # fused as it is
        graphs.gelu("half with x"),
        graphs.gelu("half first").out("e"),  # a value inside is wanted
        graphs.gelu("half first").read("p"),
        graphs.gelu("half first").overridable("half"),  # a caller may put another number
        graphs.gelu("half first").of(np.float16),
    ],
)
def test_others_stay_as_they_are(parts: graphs.Parts, tmp_path: Path) -> None:
    draft = draft_of(parts.model(), tmp_path)
    assert apply(draft, [Gelu()]).draft is draft


def test_other_numbers_are_no_gelu(tmp_path: Path) -> None:
    for name, number in (("half", 0.6), ("one", 1.1), ("root", 1.3)):
        model = graphs.gelu("half first").model()
        weight = next(t for t in model.graph.initializer if t.name == name)
        weight.CopyFrom(onnx.numpy_helper.from_array(np.array(number, np.float32), name))
        draft = draft_of(model, tmp_path)
        assert apply(draft, [Gelu()]).draft is draft


def test_several_of_them_also_inside_of_branches(tmp_path: Path) -> None:
    body = graphs.gelu("half first").model().graph
    shape = ["b", "s", 8]
    branches = []
    for tag in "te":
        graph = onnx.GraphProto.FromString(body.SerializeToString())
        del graph.input[:]
        graph.name = tag
        for node in graph.node:
            node.output[0] = f"{node.output[0]}_{tag}"
            node.input[:] = [v if v in ("x", "one", "half", "root") else f"{v}_{tag}" for v in node.input]
        graph.output[0].CopyFrom(tiny.info(f"y_{tag}", T.FLOAT, shape))
        branches.append(graph)
    model = tiny.model(
        [*body.node, tiny.node("If", ["sure"], ["z"], then_branch=branches[0], else_branch=branches[1])],
        [tiny.info("x", T.FLOAT, shape), tiny.info("sure", T.BOOL, [])],
        [tiny.info("y", T.FLOAT, shape), tiny.info("z", T.FLOAT, shape)],
        {t.name: onnx.numpy_helper.to_array(t) for t in body.initializer},
    )
    draft = draft_of(model, tmp_path)
    applied = apply(draft, [Gelu()])
    assert applied.steps[0].notes == ("3 Gelus are written as ONNX Runtime looks for it",)
    assert ops(applied.draft).count("Erf") == 3 and apply(applied.draft, [Gelu()]).draft is applied.draft
    for sure in (True, False):
        feed = {**rng_feed(x=(2, 3, 8)), "sure": np.array(sure)}
        assert_same(answers(draft, feed, tmp_path), answers(applied.draft, feed, tmp_path))


def test_a_real_encoder_gets_all_of_its_gelus_fused(tmp_path: Path) -> None:
    model = real("minilm-int8")
    draft = Draft.load(model.path)
    applied = apply(draft, [Gelu()])
    assert applied.steps[0].notes == ("6 Gelus are written as ONNX Runtime looks for it",)
    counts = [graphs.ops(d.proto, "EXTENDED") for d in (draft, applied.draft)]
    assert [c["Erf"] for c in counts] == [6, 0]
    assert counts[1]["Gelu"] + counts[1]["BiasGelu"] == 6
    (feed,) = model.feeds(1)
    assert_same(answers(draft, feed, tmp_path), answers(applied.draft, feed, tmp_path), 0.05)
