"""`close` that comes while something is being built: what is built then is dropped."""

from __future__ import annotations

import gc
import pickle
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hotlap
from hotlap.errors import UsageError
from hotlap.runtime import Runner
from hotlap.runtime.recipe import Recipe
from tests import tiny

X = np.ones((1, 4), np.float32)


@pytest.fixture
def add(tmp_path: Path) -> Runner:
    return hotlap.open(tiny.save(tiny.add(), tmp_path / "m.onnx"), threads=1)


@pytest.mark.thread_unsafe(reason="it replaces a method for all")
def test_a_runner_closed_while_its_session_is_built_stays_closed(
    add: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner: Runner = pickle.loads(pickle.dumps(add))
    load = Recipe.load

    def closed_meanwhile(recipe: Recipe) -> Any:
        loaded = load(recipe)
        runner.close()
        return loaded

    monkeypatch.setattr(Recipe, "load", closed_meanwhile)
    for _ in range(2):
        with pytest.raises(UsageError, match="is closed: open the model again"):
            runner.run({"x": X})
    assert runner._live is None and ", closed" in repr(runner)
    with pytest.raises(UsageError, match="is closed"):
        runner._workers._submit(int)


def test_a_runner_closed_while_a_step_is_made_gives_none(
    add: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[Any] = []

    def closed_meanwhile(shapes: Any) -> Any:
        inputs = made(shapes)
        add._call = lambda *args: {"y": 2 * X}  # type: ignore[method-assign]  the first run went well
        add.close()
        return inputs

    made = add._step_inputs
    monkeypatch.setattr(add, "_step_inputs", closed_meanwhile)
    with pytest.raises(UsageError, match="is closed: open the model again"):
        steps.append(add.step({"x": (1, 4)}))


def test_a_step_that_nobody_holds_is_gone_and_one_that_is_held_ends(add: Runner) -> None:
    kept = add.step({"x": (1, 4)})
    gone = [weakref.ref(add.step({"x": (1, 4)})) for _ in range(10)]
    gc.collect()
    assert [g() for g in gone] == [None] * 10 and len(add._steps) == 1
    add.close()
    with pytest.raises(UsageError, match="is closed"):
        kept()
