"""Apple's Core ML: the GPU and the Neural Engine of Apple devices."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec

from hotlap.providers.provider import Provider, option

__all__ = ["CoreMl"]


class CoreMl(Provider, frozen=True, rename="pascal"):
    """Names and values are those of ONNX Runtime's `coreml_options.cc`."""

    name: ClassVar[str] = "coreml"
    ort_name: ClassVar[str] = "CoreMLExecutionProvider"
    extra_name: ClassVar[str] = "cpu"
    install: ClassVar[str] = "pip install 'hotlap[cpu]' on macOS"
    instead: ClassVar[dict[str, str]] = {
        "flags": "MLComputeUnits, ModelFormat, RequireStaticInputShapes and EnableOnSubgraphs",
        "coreml_flags": "MLComputeUnits, ModelFormat, RequireStaticInputShapes and EnableOnSubgraphs",
    }

    ml_compute_units: Annotated[
        Literal["ALL", "CPUAndNeuralEngine", "CPUAndGPU", "CPUOnly"] | None,
        option("Which units of the chip may compute.", default="ALL", numbers=True),
    ] = msgspec.field(default=None, name="MLComputeUnits")
    model_format: Annotated[
        Literal["NeuralNetwork", "MLProgram"] | None,
        option(
            "The form of the Core ML model; MLProgram takes more operators, and needs macOS 12.",
            default="NeuralNetwork",
            numbers=True,
        ),
    ] = None
    require_static_input_shapes: Annotated[
        bool | None, option("Take only nodes whose input shapes are fixed.", default="false")
    ] = None
    enable_on_subgraphs: Annotated[
        bool | None, option("Look into the bodies of Loop, Scan and If too.", default="false")
    ] = None
    specialization_strategy: Annotated[
        Literal["Default", "FastPrediction"] | None,
        option("FastPrediction: longer to load, faster to answer.", default="Default"),
    ] = None
    profile_compute_plan: Annotated[
        bool | None, option("Log the unit and the estimated time of each operator.", default="false")
    ] = None
    allow_low_precision_accumulation_on_gpu: Annotated[
        bool | None, option("Let the GPU add up in float16.", default="false", numbers=True)
    ] = msgspec.field(default=None, name="AllowLowPrecisionAccumulationOnGPU")
    model_cache_directory: Annotated[
        str | None,
        option(
            "Folder of compiled models. ORT does not notice that a model has changed.",
            holds="folder",
            default="none",
        ),
    ] = None
