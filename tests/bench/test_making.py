from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hotlap.bench import Workload, making, parse_mix
from hotlap.bench.calling import Called
from hotlap.bench.making import MADE, made_feeds
from hotlap.errors import InputError
from hotlap.tensors import TensorSpec

IDS = TensorSpec.declared("ids", "tensor(int64)", ["batch", "length"])
MASK = TensorSpec.declared("attention_mask", "tensor(int64)", ["batch", "length"])
X = TensorSpec.declared("x", "tensor(float)", ["batch", 3, "height", "width"])


def fits(feed: Any) -> None:
    return None


def made(mix: str, *specs: TensorSpec, run: Any = fits, limits: dict[str, int] | None = None) -> Any:
    return made_feeds(Called(run, specs), Workload(shapes=(parse_mix(mix),)), limits or {})


def test_a_symbol_sizes_every_input_that_has_it() -> None:
    feeds = made("length={8:3,128:1}", IDS, MASK, limits={"ids": 1000})
    assert len(feeds) == MADE
    lengths = [f["ids"].shape[1] for f in feeds]
    assert lengths.count(8) == 48 and lengths.count(128) == 16
    assert all(f["ids"].shape == f["attention_mask"].shape for f in feeds)
    assert max(int(f["ids"].max()) for f in feeds) < 1000
    assert max(int(f["ids"].max()) for f in feeds) > 900
    assert all((f["attention_mask"] == 1).all() for f in feeds)


def test_feeds_of_equal_shape_differ_in_their_values() -> None:
    a, b = made("x=1x3x8x8", X)[:2]
    assert a["x"].shape == b["x"].shape and not np.array_equal(a["x"], b["x"])


def test_the_other_inputs_follow_the_shape_of_one() -> None:
    feeds = made("ids=2x{5,7}", IDS, MASK)
    assert {f["attention_mask"].shape for f in feeds} == {(2, 5), (2, 7)}


def test_large_shapes_make_fewer_feeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "MOST_BYTES", 10_000)
    assert len(made("x=1x3x32x32", X)) == 8


def test_a_name_that_the_model_does_not_have_is_told() -> None:
    with pytest.raises(InputError, match='"idz"'):
        made("idz=1x8", IDS, MASK)


def test_what_the_shapes_leave_open_is_guessed_until_it_runs() -> None:
    def wants_48_rows(feed: Any) -> None:
        if feed["x"].shape[2] != 48:
            raise InputError("48 rows are wanted")

    feeds = made("width={160,320}", X, run=wants_48_rows)
    assert {f["x"].shape for f in feeds} == {(1, 3, 48, 160), (1, 3, 48, 320)}
