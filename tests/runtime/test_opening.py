from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import hotlap
from hotlap.errors import ModelError, PlanError, ProviderUnavailable
from hotlap.plan import External, ModelRef, Plan
from hotlap.runtime import file_digest
from tests import tiny

X = np.ones((1, 16), np.float32)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny.save(tiny.mlp(), tmp_path / "model.onnx")


def reference(model: Path, path: str | None = None) -> ModelRef:
    return ModelRef(path=path or model.name, digest=file_digest(model))


def lap(model: Path, **arguments: Any) -> Path:
    """The model's folder as a .lap: with a plan beside it."""
    Plan(model=reference(model), **arguments).save(model.parent / "plan.toml")
    return model.parent


def test_a_model_a_plan_a_folder_and_a_value_all_open(model: Path) -> None:
    folder = lap(model, threads=1, spin="off")
    plan = Plan.load(folder / "plan.toml")
    expected = hotlap.open(model)(X).tolist()
    for source in (str(model), folder, str(folder), folder / "plan.toml"):
        assert hotlap.open(source)(X).tolist() == expected
    assert hotlap.open(plan, folder=folder)(X).tolist() == expected
    assert hotlap.open(folder).plan == plan
    assert hotlap.open(folder).model_path == model


def test_a_plan_value_is_relative_to_the_working_folder(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(model.parent)
    assert hotlap.open(Plan(model=reference(model))).threads >= 1


def test_names_with_spaces_and_other_scripts_open(tmp_path: Path) -> None:
    folder = tmp_path / "mein Ordner 模型"
    folder.mkdir()
    path = tiny.save(tiny.mlp(), folder / "modèle é.onnx")
    assert hotlap.open(path)(X).shape == (1, 4)
    assert hotlap.open(lap(path))(X).shape == (1, 4)


def test_arguments_override_the_plan_and_are_checked(model: Path) -> None:
    folder = lap(model, threads=2, spin="on", session={"enable_mem_pattern": False})
    runner = hotlap.open(folder, threads=1, spin="off", session={"enable_mem_reuse": False})
    assert (runner.threads, runner.plan.spin) == (1, "off")
    assert runner.plan.session == {"enable_mem_pattern": False, "enable_mem_reuse": False}
    for wrong in ({"threads": -1}, {"spin": "sometimes"}, {"session": {"no.such.key": 1}}, {"threads": 2.5}):
        with pytest.raises(PlanError):
            hotlap.open(folder, **wrong)


def test_provider_options_are_added_under_either_name(model: Path) -> None:
    plan = Plan(
        model=reference(model),
        providers=("cuda", "cpu"),
        provider={"cuda": {"device_id": 1, "use_tf32": False}},
    )
    runner = hotlap.open(plan, folder=model.parent, provider={"CUDAExecutionProvider": {"device_id": 0}})
    assert runner.plan.provider == {"cuda": {"device_id": 0, "use_tf32": False}}


def test_a_plan_for_another_model_is_refused_before_anything_else(tmp_path: Path) -> None:
    model = tiny.save(tiny.mlp(), tmp_path / "model.onnx")
    folder = lap(model, providers=("cuda",))
    tiny.save(tiny.mlp(seed=1), model)
    with pytest.raises(PlanError, match="made for another model"):
        hotlap.open(folder)
    model.write_bytes(model.read_bytes() + tiny.unknown_operator().SerializeToString())
    with pytest.raises(PlanError, match="made for another model"):
        hotlap.open(folder)


def test_with_the_right_model_the_other_error_is_told(model: Path) -> None:
    with pytest.raises(ProviderUnavailable, match="cuda"):
        hotlap.open(lap(model, providers=("cuda",)))


def test_external_weights_are_checked_too(tmp_path: Path) -> None:
    path = tiny.mlp_external(tmp_path)
    data = tmp_path / "model.onnx.data"
    weights = External(size=data.stat().st_size, digest=file_digest(data))
    plan = Plan(model=ModelRef(path=path.name, digest=file_digest(path), external={data.name: weights}))
    assert hotlap.open(plan, folder=tmp_path)(X).shape == (1, 4)
    data.write_bytes(bytes(data.stat().st_size))
    with pytest.raises(PlanError, match=r"model\.onnx\.data: this plan was made for another model"):
        hotlap.open(plan, folder=tmp_path)


def test_a_bare_model_is_not_hashed(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hotlap.runtime.digest.file_digest", None)
    hotlap.open(model)


@pytest.mark.parametrize("location", ["../w.bin", "{}/w.bin", "link.bin"])
def test_weights_outside_of_the_models_folder_are_refused(tmp_path: Path, location: str) -> None:
    (tmp_path / "w.bin").write_bytes(np.ones(4, np.float32).tobytes())
    folder = tmp_path / "model"
    folder.mkdir()
    if location == "link.bin":
        (folder / location).symlink_to(tmp_path / "w.bin")
    path = tiny.save(tiny.external_at(location.format(tmp_path)), folder / "m.onnx")
    with pytest.raises(ModelError, match="External data path"):
        hotlap.open(path)


def test_missing_weights_are_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"does not load it: .*w\.bin"):
        hotlap.open(tiny.save(tiny.external_at("w.bin"), tmp_path / "m.onnx"))


def test_what_is_not_there_is_told(tmp_path: Path, model: Path) -> None:
    with pytest.raises(ModelError, match="no such file"):
        hotlap.open(tmp_path / "other.onnx")
    with pytest.raises(ModelError, match="a folder, not a model file"):
        hotlap.open(tmp_path)
    (tmp_path / "x.lap").mkdir()
    with pytest.raises(PlanError, match=r"x\.lap: the folder holds no plan\.toml"):
        hotlap.open(tmp_path / "x.lap")
    with pytest.raises(PlanError):
        hotlap.open(tmp_path / "no.toml")
    with pytest.raises(PlanError, match="names no model"):
        hotlap.open(Plan())
    plan = Plan(model=ModelRef(path="gone.onnx", digest=file_digest(model)))
    with pytest.raises(ModelError, match=r"gone\.onnx: no such file.*; the plan names it as its model"):
        hotlap.open(plan, folder=tmp_path)


def test_orts_own_format_opens(tmp_path: Path, model: Path) -> None:
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "m.ort")
    options.add_session_config_entry("session.save_model_format", "ORT")
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    onnxruntime.InferenceSession(str(model), options)
    np.testing.assert_allclose(hotlap.open(tmp_path / "m.ort")(X), hotlap.open(model)(X), rtol=1e-5)


# ── what is asked for is what runs ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "asked", ["cuda", ["cuda"], "CUDAExecutionProvider", ["tensorrt"], ["tensorrt", "cuda"], "directml"]
)
def test_a_gpu_that_is_not_here_is_an_error_never_the_cpu(model: Path, asked: Any) -> None:
    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("this onnxruntime has GPU providers")
    with pytest.raises(ProviderUnavailable, match="not compiled into this onnxruntime") as caught:
        hotlap.open(model, providers=asked)
    assert "\n" not in str(caught.value)
    assert "pip" in str(caught.value)


def test_a_chain_that_ends_in_the_cpu_falls_there_aloud(
    model: Path, caplog: pytest.LogCaptureFixture
) -> None:
    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("this onnxruntime has GPU providers")
    runner = hotlap.open(model, providers=["tensorrt", "cuda", "cpu"])
    assert runner.providers == ("cpu",)
    assert runner.placement == {"cpu": 3}
    assert [n.partition(" ")[0] for n in runner.notes] == ["tensorrt", "cuda"]
    assert {r.levelname for r in caplog.records} == {"WARNING"}


@pytest.mark.parametrize(
    ("asked", "nearest"),
    [("CudaExecutionProvider", "CUDAExecutionProvider"), (["cuba", "cpu"], "cuda"), ("CPU", "cpu")],
)
def test_a_misspelt_name_is_told_with_the_nearest(model: Path, asked: Any, nearest: str) -> None:
    with pytest.raises(PlanError, match=f'did you mean "{nearest}"'):
        hotlap.open(model, providers=asked)


def test_one_name_is_no_row_of_letters(model: Path) -> None:
    assert hotlap.open(model, providers="cpu").providers == ("cpu",)


# ── options that ORT ignores in silence ───────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "arguments",
    [
        {"session": {"session.intra_op.allow_spining": "0"}},
        {"session": {"session.intra_op_num_threads": 4}},
        {"session": {"session.disable_prepacking": "false"}},
        {"session": {"free_dimension_overrides": "batch"}},
        {"session": {"enable_cpu_mem_arenas": True}},
        {"provider": {"cuda": {"trt_fp16_enable": True}}},
        {"threads": -1},
        {"threads": 0},
        {"spin": "false"},
    ],
)
def test_options_that_ort_would_ignore_are_refused(model: Path, arguments: dict[str, Any]) -> None:
    with pytest.raises(PlanError) as caught:
        hotlap.open(model, **arguments)
    assert "\n" not in str(caught.value)


def test_a_float64_input_is_no_silent_cast(model: Path) -> None:
    with pytest.raises(
        hotlap.errors.InputError, match=r"got float64, expected float32; convert it with \.astype"
    ):
        hotlap.open(model)(X.astype(np.float64))


# ── affinity ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system cannot pin a process to CPUs")
def test_pinned_to_one_cpu_it_uses_one_thread_and_ort_complains_of_nothing(
    model: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert hotlap.open(model).threads == 1
        assert hotlap.open(model, threads=4)(X).shape == (1, 4), "threads asked for are never pinned to CPUs"
    finally:
        os.sched_setaffinity(0, before)
    assert capfd.readouterr().err == ""
