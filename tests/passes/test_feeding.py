from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hotlap.errors import TargetFailed
from hotlap.passes.bind_axes import BindAxes
from hotlap.passes.feeding import made_feeds, single_rows
from hotlap.passes.rename import Rename
from hotlap.passes.step import apply
from tests import tiny
from tests.passes.asking import draft_of, rng_feed

pytestmark = pytest.mark.usefixtures("here")


def test_they_fit_the_changed_model_and_bear_the_names_of_the_source(tmp_path: Path) -> None:
    draft = draft_of(tiny.gather_mask(rows=5), tmp_path)
    changed = apply(draft, [BindAxes({"L": 7}), Rename({"ids": "tokens"})]).draft
    feeds = made_feeds(changed, draft.path or Path())
    assert [f["ids"].shape for f in feeds[:3]] == [(1, 7), (2, 7), (3, 7)]
    assert all(f.keys() == {"ids", "mask"} and f["ids"].max() < 5 for f in feeds)


def test_a_first_axis_without_a_name_holds_rows_too(tmp_path: Path) -> None:
    for batch in ("?", None):
        made = tiny.model(
            [tiny.node("Relu", ["x"], ["y"])],
            [tiny.info("x", 1, [batch, 4])],
            [tiny.info("y", 1, [batch, 4])],
        )
        draft = draft_of(made, tmp_path, f"{batch and 'question'}.onnx")
        assert [f["x"].shape for f in made_feeds(draft, draft.path or Path())[:3]] == [(1, 4), (2, 4), (3, 4)]


def test_where_nameless_axes_are_no_rows_named_ones_are(tmp_path: Path) -> None:
    made = tiny.model(
        [tiny.node("Reshape", ["s", "one"], ["t"]), tiny.node("Mul", ["x", "t"], ["y"])],
        [tiny.info("x", 1, ["batch", 4]), tiny.info("s", 1, [None])],
        [tiny.info("y", 1, ["batch", 4])],
        {"one": np.ones(1, np.int64)},
    )
    draft = draft_of(made, tmp_path)
    feeds = made_feeds(draft, draft.path or Path())
    assert [(f["x"].shape, f["s"].shape) for f in feeds[:2]] == [((1, 4), (1,)), ((2, 4), (1,))]


def test_where_several_rows_do_not_run_one_does(tmp_path: Path) -> None:
    from tests.passes.test_mend_batch import constant_target

    draft = draft_of(constant_target("batch", [1, 2, 4], [1, 2, 4]), tmp_path)
    assert {f["x"].shape for f in made_feeds(draft, draft.path or Path())} == {(1, 8)}
    with pytest.raises(TargetFailed):
        made_feeds(draft, draft.path or Path(), (2,), strict=True)


def test_a_model_without_inputs_has_one_empty_feed(tmp_path: Path) -> None:
    draft = draft_of(tiny.no_input(), tmp_path)
    assert made_feeds(draft, draft.path or Path()) == [{}]


def test_single_rows() -> None:
    feed = rng_feed(x=(3, 2), rate=(1,))
    rows = single_rows(feed, {"x"})
    assert [r["x"].shape for r in rows] == [(1, 2)] * 3 and all(r["rate"] is feed["rate"] for r in rows)
