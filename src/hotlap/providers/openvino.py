"""Intel's OpenVINO: as the plugin `onnxruntime-ep-openvino`, or compiled into ONNX Runtime."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import msgspec

from hotlap.providers.provider import ADDRESS, NonNegative, Positive, Provider, option

__all__ = ["OpenVino"]

_NUMBER_OF_THREADS = "threads, at the top of the plan"


class OpenVino(Provider, frozen=True):
    """All options go through `load_config`, a JSON text: the plugin ignores most others in silence.

    Both forms of the provider read `load_config` alike. Property names are those of OpenVINO
    (`openvino/runtime/properties.hpp` and `intel_cpu/properties.hpp`).
    """

    name: ClassVar[str] = "openvino"
    ort_name: ClassVar[str] = "OpenVINOExecutionProvider"
    extra_name: ClassVar[str] = "openvino"
    install: ClassVar[str] = "pip install 'hotlap[openvino]'"
    plugin: ClassVar[str | None] = "onnxruntime_ep_openvino"
    instead: ClassVar[dict[str, str]] = {
        "device_type": "device",
        "device_id": "device",
        "num_of_threads": _NUMBER_OF_THREADS,
        "num_threads": _NUMBER_OF_THREADS,
        "inference_num_threads": _NUMBER_OF_THREADS,
        "num_streams": "streams",
        "inference_precision_hint": "precision",
        "load_config": "the options of this table, and properties for OpenVINO's other ones",
        "context": ADDRESS,
    }

    device: Annotated[
        Literal["CPU", "GPU", "NPU"], option("Which of Intel's devices computes.", default="CPU")
    ] = "CPU"
    precision: Annotated[
        Literal["f32", "bf16", "f16"],
        option(
            "Arithmetic inside. OpenVINO alone takes bf16 where the CPU has it, which changes the answers;"
            " hotlap keeps f32 unless told otherwise.",
            default="f32",
            numbers=True,
        ),
    ] = "f32"
    performance_hint: Annotated[
        Literal["LATENCY", "THROUGHPUT", "CUMULATIVE_THROUGHPUT"],
        option(
            "What OpenVINO tunes itself for, where the other options leave it a choice.", default="LATENCY"
        ),
    ] = "LATENCY"
    streams: Annotated[
        Positive | None,
        option(
            "How many callers are served at once; each gets its share of the threads.", default="OpenVINO's"
        ),
    ] = None
    cache_dir: Annotated[
        str | None,
        option(
            "Folder of compiled models: the second start takes about half the time.",
            holds="folder",
            default="none",
        ),
    ] = None
    runtime_cache_capacity: Annotated[
        NonNegative,
        option(
            "Shapes whose kernels are kept (CPU). OpenVINO keeps 5000, at 2 to 5 MB for each.",
            default="10",
        ),
    ] = 10
    properties: Annotated[
        dict[str, str],
        option("OpenVINO properties that have no option here; OpenVINO itself checks them.", default="none"),
    ] = msgspec.field(default_factory=dict)

    def options(self, threads: int, spin: str, folder: Path | None = None) -> dict[str, str]:
        """See `Provider.options`; `spin` has no counterpart in OpenVINO, which has threads of its own."""
        texts: dict[str, str] = {
            "PERFORMANCE_HINT": self.performance_hint,
            "INFERENCE_PRECISION_HINT": self.precision,
        }
        if self.device == "CPU":
            texts["INFERENCE_NUM_THREADS"] = str(threads)
            texts["CPU_RUNTIME_CACHE_CAPACITY"] = str(self.runtime_cache_capacity)
        if self.streams is not None:
            texts["NUM_STREAMS"] = str(self.streams)
        if self.cache_dir is not None:
            texts["CACHE_DIR"] = os.fspath((folder or Path()) / self.cache_dir)
        config = json.dumps({self.device: texts | self.properties})
        return {"device_type": self.device, "load_config": config} | self.extra
