from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto as T

from hotlap.runtime import default_session
from hotlap.verify.shapes import LEAST, SIZES, varied_feeds
from tests import tiny


def shapes(model: Any, tmp_path: Path, name: str, **limits: int) -> list[tuple[int, ...]]:
    runner = default_session(tiny.save(model, tmp_path / "m.onnx"))
    return [feed[name].shape for feed in varied_feeds(runner, limits)]


def test_batches_of_one_two_and_odd_sizes(tmp_path: Path) -> None:
    found = shapes(tiny.mlp(), tmp_path, "x")
    assert {s[0] for s in found} == set(SIZES) and len(found) == LEAST
    assert all(s[1] == 16 for s in found)


def test_every_open_axis_gets_its_sizes_and_symbols_stay_equal(tmp_path: Path) -> None:
    runner = default_session(tiny.save(tiny.gather_mask(), tmp_path / "m.onnx"))
    feeds = varied_feeds(runner, {"ids": 100})
    assert all(feed["ids"].shape == feed["mask"].shape for feed in feeds)
    assert {feed["ids"].shape[0] for feed in feeds} >= set(SIZES)
    assert {feed["ids"].shape[1] for feed in feeds} >= set(SIZES)
    assert any(feed["ids"].shape[0] > 1 and feed["ids"].shape[1] % 2 for feed in feeds)
    assert 2 < max(feed["ids"].max() for feed in feeds) < 100


def test_axes_without_a_name_are_taken_to_be_equal_at_equal_places(tmp_path: Path) -> None:
    model = tiny.add_pair()
    for value in (*model.graph.input, *model.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            dim.Clear()
    found = shapes(model, tmp_path, "a")
    assert {s[0] for s in found} >= set(SIZES) and {s[1] for s in found} >= set(SIZES)


def test_sizes_that_do_not_run_are_left_out(tmp_path: Path) -> None:
    found = shapes(tiny.conv(multiple=8), tmp_path, "x")
    assert {s[0] for s in found} == set(SIZES)
    assert not {2, 3, 7, 17} & {side for s in found for side in s[2:]}
    assert len({s[2] for s in found}) > 1, "a size that nets with strides take is among them"


def test_a_fixed_shape_differs_in_its_values(tmp_path: Path) -> None:
    runner = default_session(tiny.save(tiny.identity(T.FLOAT, (2, 3)), tmp_path / "m.onnx"))
    feeds = varied_feeds(runner, {})
    assert len(feeds) == LEAST and {f["x"].shape for f in feeds} == {(2, 3)}
    assert len({f["x"].tobytes() for f in feeds}) == LEAST


@pytest.mark.parametrize("maker", [tiny.no_input, tiny.text, tiny.scalar, tiny.empty])
def test_signatures_of_every_kind_have_feeds(tmp_path: Path, maker: Any) -> None:
    feeds = varied_feeds(default_session(tiny.save(maker(), tmp_path / "m.onnx")), {})
    assert len(feeds) >= LEAST
    assert all(isinstance(array, np.ndarray) for feed in feeds for array in feed.values())


def test_no_further_shape_is_tried_when_patience_is_gone(tmp_path: Path) -> None:
    runner = default_session(tiny.save(tiny.mlp(), tmp_path / "m.onnx"))
    assert {f["x"].shape for f in varied_feeds(runner, {}, patience=-1)} == {(1, 16)}
