"""No pass takes a weight that a caller may replace for a constant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from hotlap.passes.fold import Fold
from hotlap.passes.fuse import Fuse
from hotlap.passes.optimising import default_passes
from hotlap.passes.step import Pass, apply
from hotlap.passes.transformer import Transformer
from tests.passes.asking import draft_of, ops
from tests.passes.overridable import dropout, encoder, scaled

pytestmark = pytest.mark.usefixtures("here")


def given(model: onnx.ModelProto, **feed: Any) -> Any:
    """What ORT answers where the caller gives weights too."""
    asked = {name: np.array(value, np.float32) for name, value in feed.items()}
    return onnxruntime.InferenceSession(model.SerializeToString()).run(None, asked)[0]


@pytest.mark.parametrize(
    "passes",
    [default_passes, lambda: [Fold()], lambda: [Fuse("basic")], lambda: [Fuse("extended")]],
    ids=["default", "fold", "basic", "extended"],
)
@pytest.mark.parametrize(("model", "weight"), [(scaled, "scale"), (dropout, "ratio")])
def test_another_weight_still_counts(
    passes: Callable[[], list[Pass]], model: Callable[[], onnx.ModelProto], weight: str, tmp_path: Path
) -> None:
    applied = apply(draft_of(model(), tmp_path), passes(), strict=False).draft.proto
    assert [v.name for v in applied.graph.input] == ["x", weight]
    x = [[-1, 2, 3]]
    assert np.array_equal(given(applied, x=x), given(model(), x=x))
    assert np.array_equal(given(applied, x=x, **{weight: 0.25}), given(model(), x=x, **{weight: 0.25}))


def test_where_every_weight_is_an_input_one_goes_with_what_read_it(tmp_path: Path) -> None:
    model = dropout()
    model.ir_version = 3
    made = apply(draft_of(model, tmp_path), [Fold()]).draft
    assert ops(made) == ["Relu"] and made.input_names == ("x",)
    assert np.array_equal(given(made.proto, x=[[-1, 2, 3]]), [[0, 2, 3]])


def test_a_transformer_is_fused_around_it(tmp_path: Path) -> None:
    made = apply(draft_of(encoder(), tmp_path), [Transformer()]).draft
    assert "com.microsoft.SkipLayerNormalization" in ops(made) and "com.microsoft.Gelu" not in ops(made)
    rng = np.random.default_rng(0)
    feed = {name: rng.standard_normal((2, 4, 8)) for name in ("x", "z")}
    for more in ({}, {"half": 3.0}):
        np.testing.assert_allclose(
            given(made.proto, **feed, **more), given(encoder(), **feed, **more), 1e-4, 1e-5
        )
