from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hotlap.providers import OpenVino


def config(options: dict[str, str]) -> Any:
    return json.loads(options["load_config"])


def test_it_computes_in_f32_for_one_caller_with_the_plans_threads() -> None:
    options = OpenVino().options(3, "on")
    assert options.keys() == {"device_type", "load_config"}
    assert options["device_type"] == "CPU"
    assert config(options) == {
        "CPU": {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",
            "INFERENCE_NUM_THREADS": "3",
            "CPU_RUNTIME_CACHE_CAPACITY": "10",
        }
    }


def test_options_become_openvinos_properties(tmp_path: Path) -> None:
    options = OpenVino(
        precision="bf16",
        streams=2,
        cache_dir="cache",
        runtime_cache_capacity=0,
        performance_hint="THROUGHPUT",
        properties={"EXECUTION_MODE_HINT": "ACCURACY"},
        extra={"of_later": "1"},
    ).options(1, "off", tmp_path)
    assert options["of_later"] == "1"
    assert config(options)["CPU"] == {
        "PERFORMANCE_HINT": "THROUGHPUT",
        "INFERENCE_PRECISION_HINT": "bf16",
        "INFERENCE_NUM_THREADS": "1",
        "CPU_RUNTIME_CACHE_CAPACITY": "0",
        "NUM_STREAMS": "2",
        "CACHE_DIR": str(tmp_path / "cache"),
        "EXECUTION_MODE_HINT": "ACCURACY",
    }


def test_properties_of_the_cpu_stay_with_the_cpu() -> None:
    options = OpenVino(device="GPU", precision="f16").options(4, "on")
    assert options["device_type"] == "GPU"
    assert config(options) == {"GPU": {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f16"}}


def test_another_precision_is_no_option() -> None:
    with pytest.raises(msgspec.ValidationError, match="fp16"):
        msgspec.convert({"precision": "fp16"}, OpenVino)
