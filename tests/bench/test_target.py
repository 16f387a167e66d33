from __future__ import annotations

from pathlib import Path

import pytest

from hotlap.bench import Target
from hotlap.bench.target import target_of
from hotlap.errors import HotlapError, PlanError, UsageError
from hotlap.plan import ModelRef, Plan

PLAN = Plan(model=ModelRef(path="m.onnx", digest="sha256:" + "0" * 64), threads=2)


def test_a_bare_model_is_the_default_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    target = target_of("m.onnx")
    assert (target.kind, target.label, target.model) == ("default", "m.onnx", str(tmp_path / "m.onnx"))


def test_a_plan_file_and_a_lap_folder_are_plans(tmp_path: Path) -> None:
    lap = tmp_path / "m.lap"
    lap.mkdir()
    PLAN.save(lap / "plan.toml")
    for path in (lap, lap / "plan.toml"):
        target = target_of(path)
        assert target.kind == "plan" and target.label == path.name
        assert target.model == str(lap / "m.onnx") and target.plan_dir == str(lap)
        assert Plan.loads(target.plan or "") == PLAN


def test_a_plan_in_memory_starts_from_its_folder(tmp_path: Path) -> None:
    target = Target.planned(PLAN, folder=tmp_path, label="two threads")
    assert (target.model, target.label) == (str(tmp_path / "m.onnx"), "two threads")


def test_a_plan_without_a_model_cannot_be_measured() -> None:
    with pytest.raises(HotlapError, match="names no model"):
        Target.planned(Plan())


def test_a_broken_plan_and_an_empty_lap_are_plan_errors(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text("threads = [")
    (tmp_path / "x.lap").mkdir()
    for name in ("p.toml", "x.lap"):
        with pytest.raises(PlanError):
            target_of(tmp_path / name)


def test_a_callable_is_what_looks_like_one_and_is_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    target = target_of("nets.mine:Net.predict")
    assert (target.kind, target.function, target.label) == (
        "callable",
        "nets.mine:Net.predict",
        target.function,
    )
    assert target.folder == str(tmp_path) and target.model == ""
    (tmp_path / "a:b").write_text("a model with a strange name")
    assert target_of("a:b").kind == "default"


@pytest.mark.parametrize("name", ["net", ":f", "m:", "m:f()", "m:1", "a b:c", "C:/m.onnx"])
def test_what_names_no_callable_is_refused(name: str) -> None:
    assert target_of(name).kind == "default"
    with pytest.raises(UsageError, match="write module:name"):
        Target.calling(name)
