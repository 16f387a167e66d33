"""Running models in tests: a graph, its answers, and whether two of them are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx

from hotlap.passes.draft import Draft
from hotlap.runtime import default_session
from tests import tiny

__all__ = ["answers", "assert_same", "draft_of", "ops", "rng_feed"]


def draft_of(model: onnx.ModelProto, folder: Path, name: str = "m.onnx") -> Draft:
    """The model, written and loaded as a user's would be."""
    return Draft.load(tiny.save(model, folder / name))


def answers(draft: Draft, feed: dict[str, Any], folder: Path) -> dict[str, Any]:
    """What ORT gives; the draft is laid as files first."""
    place = folder / f"run-{len(list(folder.iterdir()))}"
    place.mkdir()
    return default_session(draft.lay(place)).run(feed)


def assert_same(before: dict[str, Any], after: dict[str, Any], rtol: float = 1e-5) -> None:
    assert before.keys() == after.keys()
    for name, value in before.items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            assert value.dtype == after[name].dtype and value.shape == after[name].shape
            np.testing.assert_allclose(after[name], value, rtol=rtol, atol=1e-6, err_msg=name)
        else:
            np.testing.assert_array_equal(after[name], value, err_msg=name)


def ops(draft: Draft) -> list[str]:
    return [node.op for node in draft.walk.nodes()]


def rng_feed(seed: int = 0, **shapes: tuple[int, ...]) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {name: rng.standard_normal(shape, np.float32) for name, shape in shapes.items()}
