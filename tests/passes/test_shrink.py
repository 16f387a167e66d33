from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

from hotlap.errors import UsageError
from hotlap.passes.draft import Draft
from hotlap.passes.fold import Fold
from hotlap.passes.shrink import Shrink
from hotlap.passes.step import apply
from tests import tiny
from tests.passes.asking import answers, assert_same, draft_of, ops, rng_feed
from tests.real import real

pytestmark = pytest.mark.usefixtures("here")
SIDE = 600


def adding(value: Any, dtype: int = T.FLOAT) -> onnx.ModelProto:
    """y = x + a weight of 600 x 600."""
    declared = [tiny.info(name, dtype, ["n", SIDE, SIDE]) for name in ("x", "y")]
    return tiny.model([tiny.node("Add", ["x", "w"], ["y"])], declared[:1], declared[1:], {"w": value})


@pytest.mark.parametrize("inside", ["weight", "constant"])
def test_one_value_is_stored_once(inside: str, tmp_path: Path) -> None:
    model = adding(np.full((SIDE, SIDE), 0.25, np.float32))
    if inside == "constant":
        model.graph.node.insert(0, tiny.node("Constant", [], ["w"], value=model.graph.initializer.pop()))
    draft = draft_of(model, tmp_path)
    applied = apply(draft, [Shrink()])
    assert applied.steps[0].notes == ('"w"[600, 600] is stored as the one value that it holds',)
    assert ops(applied.draft) == ["ConstantOfShape", "Add"] and len(applied.draft.data) < 1000
    feed = rng_feed(x=(1, SIDE, SIDE))
    assert_same(answers(draft, feed, tmp_path), answers(applied.draft, feed, tmp_path), 0)
    assert apply(applied.draft, [Shrink()]).draft is applied.draft
    assert len(apply(applied.draft, [Fold()]).draft.data) < 1000  # folding does not spread it out again


@pytest.mark.parametrize(
    ("dtype", "value"), [(T.FLOAT, -np.inf), (T.FLOAT16, 1), (T.INT64, -7), (T.DOUBLE, 0)]
)
def test_of_any_type(dtype: int, value: float, tmp_path: Path) -> None:
    kind = onnx.helper.tensor_dtype_to_np_dtype(dtype)
    draft = draft_of(adding(np.full((SIDE, SIDE), value, kind), dtype), tmp_path)
    applied = apply(draft, [Shrink(1)])
    assert applied.steps[0].changed
    feed = {"x": np.ones((1, SIDE, SIDE), kind)}
    assert_same(answers(draft, feed, tmp_path), answers(applied.draft, feed, tmp_path), 0)


def test_what_is_not_one_value_stays(tmp_path: Path) -> None:
    nearly, signs = np.ones((SIDE, SIDE), np.float32), np.zeros((SIDE, SIDE), np.float32)
    nearly[-1, -1], signs[0, 0] = 2, -0.0
    small = np.ones((8, SIDE), np.float32)
    for value in (nearly, signs, np.full((SIDE, SIDE), np.nan, np.float32), small):
        draft = draft_of(adding(value), tmp_path)
        assert apply(draft, [Shrink()]).draft is draft
    overridable = adding(np.ones((SIDE, SIDE), np.float32))
    overridable.graph.input.append(tiny.info("w", T.FLOAT, [SIDE, SIDE]))
    draft = draft_of(overridable, tmp_path)
    assert apply(draft, [Shrink()]).draft is draft
    old = adding(np.ones((SIDE, SIDE), np.float32))
    old.opset_import[0].version = 8
    with pytest.raises(UsageError, match="shrink: it needs opset 9 or newer"):
        apply(draft_of(old, tmp_path), [Shrink()])


def test_a_weight_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save_model(adding(np.ones((SIDE, SIDE), np.float32)), path, save_as_external_data=True, location="w")
    applied = apply(Draft.load(path), [Shrink()])
    assert not list(applied.draft.external())
    feed = rng_feed(x=(1, SIDE, SIDE))
    assert_same(answers(Draft.load(path), feed, tmp_path), answers(applied.draft, feed, tmp_path), 0)


def test_a_real_model(tmp_path: Path) -> None:
    model = real("captcha")
    draft = Draft.load(model.path)
    applied = apply(draft, [Shrink(1024)])
    assert applied.steps[0].notes[-1].startswith('"lstm_fwd.cell.bias_hh"[')
    assert len(applied.draft.data) < len(draft.data) - 1000
    (feed,) = model.feeds(1)
    assert_same(answers(draft, feed, tmp_path), answers(applied.draft, feed, tmp_path))
