from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hotlap.bench import load_feeds
from hotlap.errors import InputError, UsageError
from hotlap.model import Model
from hotlap.tune.inputs import feeds_of, judged
from tests import tiny


@pytest.fixture
def model(tmp_path: Path) -> Model:
    return Model.load(tiny.save(tiny.mlp(), tmp_path / "m.onnx"))


def feed(value: float = 0.0) -> dict[str, Any]:
    return {"x": np.full((1, 16), value, np.float32)}


def test_many_inputs_are_thinned_evenly_for_measuring_and_all_are_kept_for_judging(model: Model) -> None:
    with feeds_of(model, [feed(n) for n in range(1024)], rows=False) as (feeds, folder):
        assert len(feeds) == 1024
        assert [int(f["x"][0, 0]) for f in load_feeds(folder)] == list(range(0, 1024, 4))
    assert not folder.exists()


def test_as_many_are_judged_as_there_is_time_for_but_64_in_any_case() -> None:
    feeds = [feed(n) for n in range(1000)]
    assert len(judged(feeds, p50_s=1.0, seconds=90)) == 64
    assert len(judged(feeds, p50_s=0.01, seconds=90)) == 360
    assert judged(feeds, p50_s=1e-6, seconds=90) is feeds


def test_where_none_are_given_one_is_made_that_runs(model: Model) -> None:
    with feeds_of(model, None, rows=False) as (feeds, _):
        assert [f["x"].shape for f in feeds] == [(1, 16)]


def test_every_problem_of_an_input_is_told_with_its_number(model: Model) -> None:
    wrong = {"x": np.zeros((1, 15), np.float64), "z": np.zeros(1)}
    with pytest.raises(InputError) as caught, feeds_of(model, [feed(), wrong], rows=False):
        pass
    assert len(caught.value.problems) == 2
    assert all(p.startswith("feed 2: input ") for p in caught.value.problems)


def test_no_inputs_are_an_error(model: Model) -> None:
    with pytest.raises(UsageError, match="no inputs"), feeds_of(model, [], rows=False):
        pass
