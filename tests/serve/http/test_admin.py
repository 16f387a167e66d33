"""Health, metadata, config, statistics, metrics and the index of models."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import numpy as np
import pytest

import hotlap
from hotlap.errors import InputError, Overloaded
from hotlap.plan import Facts
from hotlap.runtime import FakeRunner
from hotlap.serve.batch import Call
from hotlap.serve.job import Job, Timeline
from hotlap.serve.served import Served
from hotlap.serve.shared import SharedMemory
from hotlap.tensors import TensorSpec
from hotlap.wire import InferRequest
from tests.serve.http.asking import Asking


@pytest.fixture
def asking() -> Asking:
    return Asking()


def ready(asking: Asking) -> None:
    for model in asking.engine.models.values():
        model.ready = True


def test_live_is_not_ready(asking: Asking) -> None:
    assert asking.get("/v2/health/live") == (200, {"live": True})
    assert asking.get("/v2/health/ready") == (503, {"error": "the models are being warmed"})
    status, body = asking.get("/v2/models/m/ready")
    assert (status, body["error"]) == (503, 'model "m" is being warmed, or the server is about to stop')


def test_ready_once_all_are_warm(asking: Asking) -> None:
    asking.engine.models["m"].ready = True
    assert asking.get("/v2/models/m/ready") == (200, {"name": "m", "ready": True})
    assert asking.get("/v2/health/ready")[0] == asking.get("/v2/models/n/ready")[0] == 503
    ready(asking)
    assert asking.get("/v2/health/ready") == (200, {"ready": True})
    assert asking.get("/v2/models/n/versions/3/ready") == (200, {"name": "n", "ready": True})


def test_a_server_about_to_stop_is_live_and_not_ready(asking: Asking) -> None:
    ready(asking)
    asyncio.run(asking.engine.drain(0))
    assert asking.get("/v2/health/live")[0] == 200
    assert asking.get("/v2/health/ready") == (503, {"error": "the server is about to stop"})
    assert asking.get("/v2/models/m/ready")[0] == 503


def test_the_server_says_what_it_is_and_only_what_it_can(asking: Asking) -> None:
    status, told = asking.get("/v2")
    assert (status, told["name"], told["version"]) == (200, "hotlap", hotlap.__version__)
    assert "system_shared_memory" in told["extensions"]
    assert {"sequence", "cuda_shared_memory", "model_repository"} & set(told["extensions"]) == set()
    _, closed = Asking(SharedMemory(allowed=False)).get("/v2")
    assert set(told["extensions"]) - set(closed["extensions"]) == {"system_shared_memory"}


@pytest.mark.parametrize("version", ["", "/versions/1"])
def test_a_model_says_what_it_takes(asking: Asking, version: str) -> None:
    assert asking.get(f"/v2/models/m{version}") == (
        200,
        {
            "name": "m",
            "versions": ["1"],
            "platform": "onnxruntime_onnx",
            "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 16]}],
            "outputs": [{"name": "y", "datatype": "FP32", "shape": [-1, 4]}],
        },
    )


def test_only_independent_rows_may_come_together(asking: Asking) -> None:
    status, told = asking.get("/v2/models/m/config")
    assert (status, told["name"], told["max_batch_size"]) == (200, "m", 32)
    assert told["input"][0]["dims"] == [16]
    assert "dynamic_batching" in told
    status, told = asking.get("/v2/models/n/versions/3/config")
    assert (status, told["name"], told["max_batch_size"]) == (200, "n", 0)
    assert told["input"][0]["dims"] == [-1, 16]
    assert "dynamic_batching" not in told


@pytest.mark.parametrize(
    "axes", [{"x": 1, "y": 0}, {"x": 0, "y": 1}, {"x": 1, "y": 1}, {"x": 0}, {"y": 0}], ids=str
)
def test_rows_that_do_not_lie_first_are_not_told_as_such(axes: dict[str, int]) -> None:
    specs = [TensorSpec.of(name, "float32", ["a", "b"]) for name in "xy"]
    odd = Served(
        name="odd", runner=FakeRunner(specs[:1], specs[1:]), facts=Facts(rows="independent", axes=axes)
    )
    status, told = Asking(None, odd).get("/v2/models/odd/config")
    assert (status, told["max_batch_size"], told["input"][0]["dims"]) == (200, 0, [-1, -1])


@pytest.mark.parametrize("end", ["", "/ready", "/config", "/stats", "/trace/setting"])
def test_unknown_models_and_versions_are_404(asking: Asking, end: str) -> None:
    hint = "" if end == "/ready" else ' (did you mean "m"?)'  # that one asks for no token
    assert asking.get(f"/v2/models/mm{end}") == (404, {"error": f'no model "mm" is served{hint}'})
    if end != "/trace/setting":
        status, told = asking.get(f"/v2/models/n/versions/1{end}")
        assert (status, told["error"]) == (404, 'model "n" has version 3, not "1"')


def counted(told: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return {name: (d["count"], d["ns"]) for name, d in told["inference_stats"].items()}


def test_statistics_have_every_field_from_the_start(asking: Asking) -> None:
    status, told = asking.get("/v2/models/stats")
    assert status == 200
    assert [(m["name"], m["version"]) for m in told["model_stats"]] == [("m", "1"), ("n", "3")]
    for model in told["model_stats"]:
        assert set(model) >= {"last_inference", "inference_count", "execution_count", "batch_stats"}
        assert counted(model) == dict.fromkeys(
            (
                "success",
                "fail",
                "queue",
                "compute_input",
                "compute_infer",
                "compute_output",
                "cache_hit",
                "cache_miss",
            ),
            (0, 0),
        )


def test_statistics_of_a_model_that_has_worked(asking: Asking) -> None:
    model = asking.engine.models["m"]
    model.statistics.answered(Timeline(arrived=0, decoded=2, started=5, computed=105), 106)
    for error in (InputError("x"), Overloaded("x")):
        model.statistics.refused(error, 0)
    job = Job(model, InferRequest(feed={"x": np.zeros((4, 16), np.float32)}), lambda job: None)
    model.statistics.executed(Call([job], outcomes=[{}], started=5, computed=105))
    status, told = asking.get("/v2/models/m/stats")
    (one,) = told["model_stats"]
    assert (status, one["name"], one["inference_count"], one["execution_count"]) == (200, "m", 4, 1)
    assert one["last_inference"] == model.statistics.last_inference > 0
    times = counted(one)
    assert times.pop("fail")[0] == 2
    assert times == {
        "success": (1, 106),
        "queue": (1, 3),
        "compute_input": (1, 2),
        "compute_infer": (1, 100),
        "compute_output": (1, 1),
        "cache_hit": (0, 0),
        "cache_miss": (0, 0),
    }
    assert one["batch_stats"] == [
        {
            "batch_size": 4,
            "compute_input": {"count": 1, "ns": 0},
            "compute_infer": {"count": 1, "ns": 100},
            "compute_output": {"count": 1, "ns": 0},
        }
    ]
    assert asking.get("/v2/models/m/versions/1/stats") == (status, told)


def test_metrics_are_text(asking: Asking) -> None:
    reply = asking.reply("GET", "/metrics")
    assert reply.status == 200
    assert reply.content_type.startswith(b"text/plain; version=0.0.4")
    assert b'hotlap_rows_total{model="n",version="3"} 0\n' in b"".join(reply.body)


def test_the_index_lists_models_and_whether_they_are_ready(asking: Asking) -> None:
    asking.engine.models["n"].ready = True
    warming = {"name": "m", "version": "1", "state": "LOADING", "reason": "it is being warmed"}
    warm = {"name": "n", "version": "3", "state": "READY", "reason": ""}
    assert asking.post("/v2/repository/index") == (200, [warming, warm])
    assert asking.post("/v2/repository/index", {"ready": False}) == (200, [warming, warm])
    assert asking.post("/v2/repository/index", {"ready": True}) == (200, [warm])
    status, told = asking.post("/v2/repository/index", {"ready": 1})
    assert (status, told["error"]) == (400, "ready: expected true or false, got 1")
    assert asking.post("/v2/repository/index", b"[1]")[0] == 400


@pytest.mark.parametrize("what", ["load", "unload"])
def test_models_are_neither_loaded_nor_unloaded(asking: Asking, what: str) -> None:
    for body in (b"", json.dumps({"parameters": {"config": "{}"}}).encode()):
        status, told = asking.post(f"/v2/repository/models/m/{what}", body)
        assert (status, told["error"]) == (
            501,
            "this server serves the models that it was started with; it loads and unloads none",
        )


def test_each_address_has_its_method(asking: Asking) -> None:
    assert asking.post("/v2/health/live")[0] == 405
    assert asking.get("/v2/repository/index")[0] == 405
    assert asking.post("/v2/models/m/config")[0] == 405
