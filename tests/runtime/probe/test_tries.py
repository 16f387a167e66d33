from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hotlap.errors import InputError, UsageError
from hotlap.runtime.probe import tries
from hotlap.runtime.probe.tries import OutOfTime, Tries
from hotlap.tensors import TensorSpec

X = {"x": np.zeros((1, 4), np.float32)}


class Slow:
    """Takes a second a row of a clock that stands otherwise."""

    inputs = (TensorSpec.of("x", "float32", ["N", 4]),)
    outputs = (TensorSpec.of("y", "float32", ["N", 4]),)

    def __init__(self, monkeypatch: pytest.MonkeyPatch, error: Exception | None = None) -> None:
        self.now = 0.0
        self.error = error
        monkeypatch.setattr(tries, "monotonic", lambda: self.now)
        monkeypatch.setattr(tries, "perf_counter", lambda: self.now)

    def run(self, feed: dict[str, Any]) -> dict[str, Any]:
        if self.error is not None:
            raise self.error
        self.now += len(feed["x"])
        return {"y": feed["x"]}


def test_what_would_take_too_long_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Slow(monkeypatch)
    tried = Tries(model, 4.5)
    assert tried.run(X)[1] == ""
    many = {"x": np.zeros((4, 4), np.float32)}
    assert tried.cost(many) == pytest.approx(4.0)
    with pytest.raises(OutOfTime):
        tried.run(many)
    assert model.now == 1.0
    tried.run({"x": np.zeros((3, 4), np.float32)})
    assert tried.left == pytest.approx(0.5)


def test_the_first_run_is_made_however_little_time_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Tries(Slow(monkeypatch), 0.0).run(X)[0]["y"].shape == (1, 4)


def test_refusals_are_answers_and_mistakes_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = Tries(Slow(monkeypatch, InputError("no\n  such " + "x" * 999)), 5)
    answers, said = tried.run(X)
    assert answers == {} and said.startswith("no such x") and len(said) == 300
    assert tried.seen == []
    with pytest.raises(UsageError):
        Tries(Slow(monkeypatch, UsageError("closed")), 5).run(X)


def test_shapes_are_remembered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = Tries(Slow(monkeypatch), 50)
    for rows in (1, 2, 1):
        tried.run({"x": np.zeros((rows, 4), np.float32)})
    assert tried.seen == [(((1, 4),), ((1, 4),)), (((2, 4),), ((2, 4),))]


def test_a_median_of_as_many_calls_as_there_is_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Slow(monkeypatch)
    tried = Tries(model, 4.0)
    tried.run(X)
    assert tried.seconds(X, 5) == pytest.approx(1.0)
    assert model.now <= 4.0
    with pytest.raises(OutOfTime):
        tried.seconds({"x": np.zeros((9, 4), np.float32)}, 5)
