from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hotlap.bench import Target, Workload
from hotlap.bench.target import target_of
from hotlap.errors import HotlapError, PlanError, UsageError
from hotlap.plan import ModelRef, Plan

PLAN = Plan(model=ModelRef(path="m.onnx", digest="sha256:" + "0" * 64), threads=2)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"seconds": 0}, "seconds must be more than 0"),
        ({"seconds": float("inf")}, "seconds must be more than 0"),
        ({"seconds": float("nan")}, "seconds must be more than 0"),
        ({"warmup": -1}, "warmup must be 0 or more"),
        ({"processes": 0}, "processes must be 1 or more"),
        ({"seed": -1}, "seed must be 0 or more"),
        ({"timeout": 0}, "timeout must be more than 0"),
    ],
)
def test_values_that_make_no_sense_are_named(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Workload(**fields)


def test_a_process_may_take_its_timeout_beyond_what_it_measures() -> None:
    assert Workload(seconds=3, warmup=1, timeout=10).allowance == 18


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
