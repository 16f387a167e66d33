from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from hotlap.errors import ModelError, PlanError, UsageError
from hotlap.plan import Facts, ModelRef, Plan, Serve
from hotlap.runtime import file_digest
from hotlap.serve.loading import Share, load, name_of, share_of
from tests import tiny


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOTLAP_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny.save(tiny.mlp(), tmp_path / "mlp.onnx")


def lap(folder: Path, model: Path, **plan: object) -> Path:
    folder.mkdir()
    ref = ModelRef(path=str(model), digest=file_digest(model))
    Plan(model=ref, **plan).save(folder / "plan.toml")  # type: ignore[arg-type]
    return folder


@pytest.mark.parametrize(
    ("plan", "cpus", "models", "threads", "lanes"),
    [
        (Plan(), 1, 1, 1, 1),
        (Plan(), 2, 1, 1, 2),
        (Plan(), 3, 1, 2, 2),
        (Plan(), 4, 1, 3, 2),
        (Plan(), 16, 1, 9, 8),
        (Plan(), 16, 2, 5, 4),
        (Plan(), 2, 5, 1, 1),
        (Plan(threads=4), 4, 1, 4, 1),
        (Plan(threads=2), 4, 1, 2, 3),
        (Plan(threads=8), 4, 1, 8, 1),
        (Plan(serve=Serve(lanes=4)), 4, 1, 1, 4),
        (Plan(serve=Serve(lanes=1)), 4, 1, 4, 1),
        (Plan(serve=Serve(lanes=9)), 4, 1, 1, 9),
        (Plan(threads=2, serve=Serve(lanes=5)), 4, 1, 2, 5),
    ],
)
def test_what_a_model_gets_of_the_cpus(plan: Plan, cpus: int, models: int, threads: int, lanes: int) -> None:
    share = share_of(plan, cpus, models)
    assert (share.threads, share.lanes) == (threads, lanes)
    left_open = plan.serve is None and plan.threads is None
    assert not left_open or share.running == max(1, cpus // models)


@pytest.mark.parametrize(
    ("plan", "cpus", "models", "spin"),
    [
        (Plan(), 1, 1, "on"),
        (Plan(threads=4), 4, 1, "on"),
        (Plan(threads=4, spin="50us"), 4, 1, "50us"),
        (Plan(), 2, 1, "off"),
        (Plan(threads=4), 4, 2, "off"),
        (Plan(serve=Serve(spin="10us")), 8, 3, "10us"),
        (Plan(threads=4, serve=Serve(spin="off")), 4, 1, "off"),
    ],
)
def test_nobody_spins_on_cores_that_are_shared(plan: Plan, cpus: int, models: int, spin: str) -> None:
    assert share_of(plan, cpus, models).spin == spin


def test_threads_are_counted_once_for_all_lanes() -> None:
    assert Share(threads=3, lanes=2, spin="off").running == 4


def test_a_bare_model_is_probed_and_named_after_its_file(model: Path) -> None:
    (served,) = load([model])
    assert (served.name, served.version, served.ready) == ("mlp", "1", False)
    assert (served.facts.rows, served.facts.axes) == ("independent", {"x": 0, "y": 0})
    assert served.serve == Serve()
    assert served.runner.run({"x": np.ones((2, 16), np.float32)})["y"].shape == (2, 4)
    served.runner.close()


def test_a_plan_says_how_it_is_served_and_brings_its_facts(tmp_path: Path, model: Path) -> None:
    facts = Facts(rows="dependent", why="as the plan says")
    serve = Serve(lanes=2, max_batch=4, spin="off")
    (served,) = load([lap(tmp_path / "fast.lap", model, facts=facts, serve=serve, threads=1)])
    assert (served.name, served.lanes, served.runner.threads) == ("fast", 2, 1)
    assert (served.facts, served.serve) == (facts, serve)
    assert served.runner.plan.spin == "off"
    served.runner.close()


def test_a_plan_without_batches_needs_no_probing(tmp_path: Path, model: Path) -> None:
    (served,) = load([lap(tmp_path / "a.lap", model, serve=Serve(max_batch=1))])
    assert served.facts == Facts()
    assert not (tmp_path / "cache").exists()
    served.runner.close()


def test_a_model_that_cannot_be_probed_is_served_without_batches(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    far = {"at": np.array([10**6], np.int64)}
    takes, gives = tiny.info("x", 1, ["N"]), tiny.info("y", 1, [1])
    nodes = [tiny.node("Gather", ["x", "at"], ["y"])]
    picky = tiny.save(tiny.model(nodes, [takes], [gives], far), tmp_path / "picky.onnx")
    with caplog.at_level(logging.WARNING, "hotlap.serve"):
        (served,) = load([picky])
    assert served.facts.rows == "unknown"
    assert "picky: not probed, so its requests share no call" in caplog.text
    served.runner.close()


def test_spin_stays_where_the_plan_has_options_about_it(
    tmp_path: Path, model: Path, caplog: pytest.LogCaptureFixture
) -> None:
    target = lap(
        tmp_path / "a.lap",
        model,
        threads=1,
        serve=Serve(lanes=2, max_batch=1),
        session={"session.force_spinning_stop": True},
    )
    with caplog.at_level(logging.WARNING, "hotlap.serve"):
        (served,) = load([target])
    assert served.runner.plan.spin == "on"
    assert "a: spin stays on" in caplog.text
    served.runner.close()


def test_more_threads_than_cpus_are_told(
    tmp_path: Path, model: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "hotlap.serve"):
        (served,) = load([lap(tmp_path / "a.lap", model, serve=Serve(lanes=1024, max_batch=1))])
    assert "1024 threads compute when all lanes are busy" in caplog.text
    served.runner.close()


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("a/m.onnx", "m"),
        ("a/net.v2.onnx", "net.v2"),
        ("fast.lap", "fast"),
        ("fast.lap/", "fast"),
        ("a/fast.lap/plan.toml", "fast"),
        ("a/plain/plan.toml", "plain"),
        ("a/other.toml", "other"),
    ],
)
def test_names(target: str, name: str) -> None:
    assert name_of(target) == name


def test_two_of_one_name_are_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match='two targets would be served as "m": give one another name'):
        load([tmp_path / "a" / "m.onnx", tmp_path / "m.lap"])
    with pytest.raises(UsageError, match="no model is named"):
        load([])


def test_what_is_not_there_is_told_and_nothing_stays_open(tmp_path: Path, model: Path) -> None:
    with pytest.raises(ModelError, match=r"missing\.onnx"):
        load([model, tmp_path / "missing.onnx"])
    with pytest.raises(PlanError, match=r"holds no plan\.toml"):
        (tmp_path / "x.lap").mkdir()
        load([tmp_path / "x.lap"])


def test_code_in_a_plan_is_neither_loaded_nor_probed_unless_it_is_allowed(
    tmp_path: Path, model: Path
) -> None:
    target = lap(tmp_path / "a.lap", model, custom_ops=("ops.so",))
    with pytest.raises(PlanError, match=r'loads code from "ops\.so"'):
        load([target])
    assert not (tmp_path / "cache").exists()
