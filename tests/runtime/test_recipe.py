from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import hotlap
from hotlap.errors import ModelError, PlanError, UsageError
from hotlap.plan import ModelRef, Plan
from hotlap.runtime import Runner, file_digest
from hotlap.runtime.recipe import Recipe
from tests import tiny

X = np.ones((1, 4), np.float32)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny.save(tiny.add(), tmp_path / "m.onnx")


def test_a_pickle_is_the_recipe_and_opens_when_it_is_first_called(model: Path) -> None:
    runner = hotlap.open(model, threads=1, spin="off", on_fork="rebuild", debug=True)
    for _ in range(3):
        runner(X)
    twin = pickle.loads(pickle.dumps(runner))
    assert "not loaded" in repr(twin)
    for name in ("inputs", "outputs", "plan", "threads", "providers", "placement", "notes", "debug"):
        assert getattr(twin, name) == getattr(runner, name), name
    assert twin._live is None, "none of that has loaded it"
    assert twin(X).tolist() == [[2] * 4] and "not loaded" not in repr(twin)
    assert twin._recipe == runner._recipe


def test_a_deep_copy_is_another_runner(model: Path) -> None:
    runner = hotlap.open(model)
    twin = copy.deepcopy(runner)
    runner.close()
    assert twin(X).tolist() == [[2] * 4]
    assert pickle.loads(pickle.dumps(runner))(X).tolist() == [[2] * 4], "a closed one can be sent too"


def test_it_goes_to_another_process(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(model.parent)
    runner = hotlap.open("m.onnx", threads=1)
    monkeypatch.chdir("/")
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(runner, X).result(60).tolist() == [[2] * 4]


def test_a_model_that_changed_since_is_refused(tmp_path: Path) -> None:
    model = tiny.save(tiny.add(), tmp_path / "m.onnx")
    plan = Plan(model=ModelRef(path=model.name, digest=file_digest(model)))
    twin = pickle.loads(pickle.dumps(hotlap.open(plan, folder=model.parent)))
    tiny.save(tiny.mlp(), model)
    with pytest.raises(PlanError, match="made for another model"):
        twin(X)
    model.unlink()
    with pytest.raises((ModelError, PlanError)):
        twin(X)


def test_a_closed_copy_says_so(model: Path) -> None:
    twin = pickle.loads(pickle.dumps(hotlap.open(model)))
    twin.close()
    with pytest.raises(UsageError, match="is closed"):
        twin(X)


def test_open_checks_its_words(model: Path) -> None:
    with pytest.raises(UsageError, match=r"on_fork: 'rebuilt' is none of raise, rebuild \(did you mean"):
        hotlap.open(model, on_fork="rebuilt")  # type: ignore[arg-type]
    for wrong in ({"workers": 0}, {"waiting": -1}):
        with pytest.raises(UsageError, match="workers must be 1 or more"):
            hotlap.open(model, **wrong)  # type: ignore[arg-type]


def test_a_recipe_holds_anywhere(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(model.parent)
    recipe = Recipe(Plan(), Path("m.onnx"), Path())
    anywhere = recipe.anywhere()
    assert anywhere.model == model.parent / "m.onnx" and anywhere.folder == model.parent
    monkeypatch.chdir("/")
    assert Runner(anywhere, anywhere.load())(X).tolist() == [[2] * 4]
