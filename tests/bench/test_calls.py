from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hotlap
from hotlap.bench.calls import Calls, compare_calls
from hotlap.errors import InputError
from tests import tiny

X = np.ones((1, 16), np.float32)


def found(calls: Calls) -> dict[str, bool]:
    return {way.name: way.seconds is not None for way in calls.ways}


def test_every_way_is_timed_against_the_plain_one(tmp_path: Path) -> None:
    with hotlap.open(tiny.save(tiny.mlp(), tmp_path / "m.onnx"), threads=1) as runner:
        calls = compare_calls(runner, [{"x": X}, {"x": 2 * X}], seconds=0.05)
    assert all(found(calls).values()) and len(calls.ways) == 10
    first = calls.ways[0]
    assert (first.name, first.ratio, first.low, first.high) == ("run(None, feed)", 1, 1, 1)
    for way in calls.ways:
        assert way.low is not None and way.ratio is not None and way.high is not None
        assert 0 < way.low <= way.ratio <= way.high
    assert (calls.path, calls.rounds >= 12) == ("bound", True)


def test_ways_that_a_model_does_not_allow_say_why(tmp_path: Path) -> None:
    with hotlap.open(tiny.save(tiny.text(), tmp_path / "m.onnx")) as runner:
        calls = compare_calls(runner, [{"x": np.array(["a"], object)}], seconds=0.02)
    possible = found(calls)
    assert possible["run(None, feed)"] and possible["hotlap run"] and possible["hotlap borrow"]
    assert not possible["run_with_ort_values"] and not possible["prebound"]
    assert all(way.note for way in calls.ways if way.seconds is None)
    assert calls.path == "plain" and "string" in calls.why


def test_a_feed_that_does_not_fit_is_an_error(tmp_path: Path) -> None:
    with (
        hotlap.open(tiny.save(tiny.mlp(), tmp_path / "m.onnx")) as runner,
        pytest.raises(InputError, match="axis 1 has size 5"),
    ):
        compare_calls(runner, [{"x": X[:, :5]}], seconds=0.01)
