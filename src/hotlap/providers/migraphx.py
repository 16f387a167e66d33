"""AMD GPUs through MIGraphX."""

from __future__ import annotations

from typing import Annotated, ClassVar

from hotlap.providers.provider import ADDRESS, Arena, NonNegative, Positive, Provider, option

__all__ = ["MiGraphX"]


class MiGraphX(Provider, frozen=True):
    """Names and defaults are those of ONNX Runtime's `migraphx_execution_provider_info.h`."""

    name: ClassVar[str] = "migraphx"
    ort_name: ClassVar[str] = "MIGraphXExecutionProvider"
    install: ClassVar[str] = "pip install onnxruntime-migraphx (needs ROCm)"
    instead: ClassVar[dict[str, str]] = {
        "migraphx_external_alloc": ADDRESS,
        "migraphx_external_free": ADDRESS,
        "migraphx_external_empty_cache": ADDRESS,
        "migraphx_save_compiled_model": "migraphx_model_cache_dir",
        "migraphx_load_compiled_model": "migraphx_model_cache_dir",
    }

    device_id: Annotated[NonNegative | None, option("Which GPU, counted from 0.", default="0")] = None
    migraphx_fp16_enable: Annotated[
        bool | None, option("Compute in float16.", default="false", numbers=True)
    ] = None
    migraphx_bf16_enable: Annotated[
        bool | None, option("Compute in bfloat16.", default="false", numbers=True)
    ] = None
    migraphx_fp8_enable: Annotated[
        bool | None, option("Compute in float8.", default="false", numbers=True)
    ] = None
    migraphx_int8_enable: Annotated[
        bool | None, option("Compute in int8; needs a calibration table.", default="false", numbers=True)
    ] = None
    migraphx_int8_calibration_table_name: Annotated[
        str | None, option("Name of the calibration table's file.", default="none", numbers=True)
    ] = None
    migraphx_int8_use_native_calibration_table: Annotated[
        bool | None, option("The table is MIGraphX's own, not ORT's.", default="false", numbers=True)
    ] = None
    migraphx_exhaustive_tune: Annotated[
        bool | None,
        option("Try every kernel while compiling: minutes to hours, faster after.", default="false"),
    ] = None
    migraphx_model_cache_dir: Annotated[
        str | None, option("Folder of compiled models.", holds="folder", default="none")
    ] = None
    migraphx_mem_limit: Annotated[
        Positive | None, option("Most bytes that the arena takes from the GPU.", default="all")
    ] = None
    migraphx_arena_extend_strategy: Annotated[
        Arena | None,
        option(
            "How the arena grows: to the next power of two, or by just what is asked for.",
            default="kNextPowerOfTwo",
        ),
    ] = None
