from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import hotlap
from hotlap.errors import (
    InputError,
    ModelError,
    PlanError,
    ProviderUnavailable,
    TargetFailed,
    UsageError,
)
from hotlap.plan import ModelRef, Plan
from hotlap.tune import Budget, Tuning, inputs, search, tune
from hotlap.tune.candidates import Candidate, cpu_default
from tests import tiny

SHORT = Budget(seconds=10)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny.save(tiny.mlp(), tmp_path / "m.onnx")


def gelu_model() -> Any:
    """A matrix product and a Gelu, which ORT can approximate by tanh on request."""
    rng = np.random.default_rng(0)
    w = helper.make_tensor(
        "w", TensorProto.FLOAT, [8, 8], rng.standard_normal(64).astype(np.float32).tobytes(), True
    )
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Gelu", ["h"], ["y"], domain="com.microsoft"),
    ]
    ins = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8])]
    outs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 8])]
    graph = helper.make_graph(nodes, "g", ins, outs, [w])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


@pytest.mark.slow
def test_from_a_model_to_a_folder_that_runs(model: Path, tmp_path: Path) -> None:
    heard: list[str] = []
    out = tmp_path / "m.lap"
    tuning = tune(model, out, budget=SHORT, on_progress=lambda spent, what: heard.append(what))

    assert {p.name for p in out.iterdir()} == {"plan.toml", "m.onnx", "tuning.json"}
    assert Tuning.load(out / "tuning.json") == tuning
    assert Plan.load(out / "plan.toml") == tuning.plan
    assert tuning.plan.threads is not None
    assert {t.status for t in tuning.trials} <= {"chosen", "kept", "dropped"}
    assert [t.label for t in tuning.trials if t.status == "chosen"] == [tuning.chosen]
    assert tuning.comparison is not None
    assert tuning.comparison.a.target.kind == "default"
    assert tuning.verdict is not None and tuning.verdict.passed
    assert any(what.startswith("final") for what in heard)

    x = np.ones((3, 16), np.float32)
    with hotlap.open(out) as runner, hotlap.open(model) as bare:
        assert runner.threads == tuning.plan.threads
        assert runner.run({"x": x})["y"].tobytes() == bare.run({"x": x})["y"].tobytes()
    if tuning.won:
        assert tuning.plan.evidence is not None and tuning.plan.evidence.low > 1.01
    else:
        assert tuning.plan.evidence is None and "default with the thread count set explicitly" in tuning.said


@pytest.mark.slow
def test_every_candidate_gets_a_row_whatever_becomes_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def three(ref: ModelRef, usable: int, *args: Any) -> list[Candidate]:
        approximate = Plan(model=ref, threads=1, session={"optimization.enable_gelu_approximation": True})
        return [
            cpu_default(ref, usable),
            Candidate(label="cuda", plan=Plan(model=ref, providers=("cuda",), threads=1)),
            Candidate(label="approximate", plan=approximate, arithmetic="approximate"),
        ]

    monkeypatch.setattr(search, "make_candidates", three)
    model = tiny.save(gelu_model(), tmp_path / "g.onnx")
    tuning = tune(model, budget=SHORT)
    rows = {t.label: t for t in tuning.trials}
    assert rows["cuda"].status == "failed"
    assert "cuda" in rows["cuda"].reason
    assert rows["approximate"].status == "refused"
    assert "give --data to have it judged" in rows["approximate"].reason
    assert rows["approximate"].verdict is not None and not rows["approximate"].verdict.passed
    assert rows["approximate"].processes, "a refused candidate keeps its samples"
    assert tuning.plan.session == {}
    assert tuning.folder is None


@pytest.mark.slow
def test_given_inputs_are_measured_and_judged_on_and_a_reference_points_to_the_model(
    model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "m.lap"
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "rows.npz", x=rng.standard_normal((80, 16)).astype(np.float32))
    tuning = tune(model, out, data=tmp_path / "rows.npz", rows=True, budget=SHORT, reference=True)
    assert (tuning.feeds, tuning.generated) == (80, False)
    assert tuning.verdict is not None and tuning.verdict.rows == 80
    assert tuning.verdict.level == "exact", "full precision is judged at the stricter level where it passes"
    assert {p.name for p in out.iterdir()} == {"plan.toml", "tuning.json"}
    plan = Plan.load(out / "plan.toml")
    assert plan.model is not None and plan.model.path == str(model)
    hotlap.open(out).close()
    assert json.loads((out / "tuning.json").read_text())["plan"]["model"]["path"] == str(model)


def test_a_destination_that_would_lose_something_is_refused_before_any_work(
    model: Path, tmp_path: Path
) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").write_text("x")
    with pytest.raises(UsageError, match="no lap folder"):
        tune(
            model, tmp_path / "taken", budget=SHORT, on_progress=lambda *_: pytest.fail("it started to work")
        )


def test_a_missing_or_broken_model_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no\.onnx"):
        tune(tmp_path / "no.onnx", tmp_path / "m.lap")
    (tmp_path / "bad.onnx").write_bytes(b"not a model")
    with pytest.raises(ModelError, match=r"bad\.onnx"):
        tune(tmp_path / "bad.onnx", tmp_path / "m.lap")
    assert not (tmp_path / "m.lap").exists()


def test_inputs_that_do_not_fit_are_told_before_anything_is_measured(model: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "bad.npz", x=np.zeros((1, 15), np.float64), z=np.zeros(1))
    with pytest.raises(InputError) as caught:
        tune(model, data=tmp_path / "bad.npz", budget=SHORT)
    assert len(caught.value.problems) == 2
    with pytest.raises(UsageError):
        tune(model, data=tmp_path / "missing", budget=SHORT)
    with pytest.raises(UsageError, match="no inputs"):
        tune(model, data=[], budget=SHORT)


def test_a_provider_that_was_named_must_load(model: Path) -> None:
    with pytest.raises(ProviderUnavailable, match="cuda: not compiled into this onnxruntime"):
        tune(model, providers=["cuda"], budget=SHORT)
    with pytest.raises(PlanError, match="cuda"):
        tune(model, providers=["cudda"], budget=SHORT)


@pytest.mark.slow
def test_a_metric_of_the_user_is_asked_where_the_answers_are_not_the_same_anyway(model: Path) -> None:
    rng = np.random.default_rng(0)
    feeds = [{"x": rng.standard_normal((1, 16)).astype(np.float32)} for _ in range(8)]
    tuning = tune(model, data=feeds, level="task", metric=lambda f, y: 1.0, max_drop=0.0, budget=SHORT)
    assert tuning.verdict is not None and (tuning.verdict.level, tuning.verdict.passed) == ("exact", True)


def test_a_metric_is_never_passed_over(model: Path) -> None:
    def metric(feeds: Any, outputs: Any) -> float:
        return 1.0

    for level in ("exact", "close"):
        with pytest.raises(UsageError, match=f'"{level}" would not ask it'):
            tune(model, data=[{}], level=level, metric=metric, max_drop=0.0)
    with pytest.raises(UsageError, match=r"a metric needs your data.*: give --data"):
        tune(model, metric=metric, max_drop=0.0)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"metric": lambda f, y: 1.0}, "how much may the metric drop"),
        ({"level": "task", "metric": lambda f, y: 1.0}, "how much may the metric drop"),
        ({"level": "task"}, '"task" is about a metric of yours'),
        ({"max_drop": 0.1}, "--max-drop says how much a metric may drop"),
        ({"level": "close", "max_drop": 0.1}, "--max-drop says how much a metric may drop"),
    ],
)
def test_half_of_a_metric_is_refused_before_anything_is_measured(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        tune("no such model.onnx", data=[{}], **asked)


def test_a_looser_gate_needs_the_users_data(model: Path) -> None:
    with pytest.raises(UsageError, match='"close" judges on your data alone: give --data'):
        tune(model, level="close", budget=SHORT)


def test_a_model_that_crashes_or_hangs_does_so_in_a_process_of_its_own(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: Any, **__: Any) -> Path:
        raise TargetFailed("m.onnx: the process crashed (SIGABRT)")

    monkeypatch.setattr(inputs, "make_feeds", crash)
    with pytest.raises(TargetFailed, match="SIGABRT"):
        tune(model, tmp_path / "m.lap", budget=SHORT)
    assert not (tmp_path / "m.lap").exists()
