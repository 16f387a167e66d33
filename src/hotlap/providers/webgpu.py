"""Any GPU through WebGPU (Dawn over Direct3D 12, Vulkan or Metal), as a plugin."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from hotlap.providers.provider import ADDRESS, NonNegative, Positive, Provider, option

__all__ = ["WebGpu"]

Buffers = Literal["disabled", "lazyRelease", "simple", "bucket"]


class WebGpu(Provider, frozen=True, rename="camel"):
    """Names and defaults are those of ONNX Runtime's `webgpu_provider_options.h` and `_factory.cc`."""

    name: ClassVar[str] = "webgpu"
    ort_name: ClassVar[str] = "WebGpuExecutionProvider"
    install: ClassVar[str] = "pip install onnxruntime-ep-webgpu beside onnxruntime"
    plugin: ClassVar[str | None] = "onnxruntime_ep_webgpu"
    instead: ClassVar[dict[str, str]] = {
        "webgpuInstance": ADDRESS,
        "webgpuDevice": ADDRESS,
        "dawnProcTable": ADDRESS,
    }

    preferred_layout: Annotated[
        Literal["NCHW", "NHWC"] | None,
        option("Order of axes that convolutions compute in.", default="NHWC", numbers=True),
    ] = None
    enable_graph_capture: Annotated[
        bool | None, option("Record the run once and replay it; shapes must then stay.", default="false")
    ] = None
    dawn_backend_type: Annotated[
        Literal["D3D12", "Vulkan"] | None, option("The graphics system below.", default="the platform's")
    ] = None
    power_preference: Annotated[
        Literal["high-performance", "low-power"] | None,
        option("Which GPU to prefer where there are several.", default="high-performance"),
    ] = None
    device_id: Annotated[
        NonNegative | None, option("Number of the WebGPU context; equal numbers share one.", default="0")
    ] = None
    validation_mode: Annotated[
        Literal["disabled", "wgpuOnly", "basic", "full"] | None,
        option("How much is checked on each call.", default="basic"),
    ] = None
    storage_buffer_cache_mode: Annotated[
        Buffers | None, option("How buffers of tensors are kept for reuse.", default="bucket")
    ] = None
    uniform_buffer_cache_mode: Annotated[
        Buffers | None, option("How buffers of parameters are kept for reuse.", default="simple")
    ] = None
    query_resolve_buffer_cache_mode: Annotated[
        Buffers | None, option("How buffers of timings are kept for reuse.", default="disabled")
    ] = None
    default_buffer_cache_mode: Annotated[
        Buffers | None, option("How all other buffers are kept for reuse.", default="disabled")
    ] = None
    max_storage_buffer_binding_size: Annotated[
        Positive | None, option("Most bytes bound as one buffer.", default="the device's")
    ] = None
    force_cpu_node_names: Annotated[
        str | None, option("Names of nodes to leave to the CPU, one a line.", default="none", numbers=True)
    ] = None
    preserve_device: Annotated[
        bool | None, option("Keep the device when the last session is closed.", default="false")
    ] = None
