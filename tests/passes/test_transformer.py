from __future__ import annotations

from pathlib import Path

import pytest

from hotlap.errors import UsageError
from hotlap.passes import face
from hotlap.passes.draft import Draft
from hotlap.passes.step import apply
from hotlap.passes.transformer import Transformer
from tests import tiny
from tests.passes.asking import answers, assert_same, draft_of, ops
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
