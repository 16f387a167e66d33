from __future__ import annotations

import json

from hotlap.wire import BatchStats, Duration, InferenceStats, ModelStats, statistics


def test_every_field_that_clients_read_unchecked_is_there() -> None:
    found = json.loads(statistics([ModelStats(name="m", version="1")]))
    (model,) = found["model_stats"]
    assert model["name"] == "m" and model["version"] == "1"
    assert (model["inference_count"], model["execution_count"], model["last_inference"]) == (0, 0, 0)
    kinds = (
        "success", "fail", "queue", "compute_input", "compute_infer", "compute_output", "cache_hit",
        "cache_miss",
    )  # fmt: skip
    assert model["inference_stats"] == {kind: {"count": 0, "ns": 0} for kind in kinds}
    assert model["batch_stats"] == model["memory_usage"] == []
    assert model["response_stats"] == {}


def test_counts_are_written() -> None:
    stats = ModelStats(
        name="m", version="2", last_inference=5, inference_count=8, execution_count=3,
        inference_stats=InferenceStats(success=Duration(8, 900)),
        batch_stats=(BatchStats(batch_size=4, compute_infer=Duration(2, 70)),),
    )  # fmt: skip
    (model,) = json.loads(statistics([stats]))["model_stats"]
    assert model["inference_stats"]["success"] == {"count": 8, "ns": 900}
    assert model["batch_stats"] == [
        {
            "batch_size": 4,
            "compute_input": {"count": 0, "ns": 0},
            "compute_infer": {"count": 2, "ns": 70},
            "compute_output": {"count": 0, "ns": 0},
        }
    ]


def test_no_models_are_an_empty_list() -> None:
    assert json.loads(statistics([])) == {"model_stats": []}
