"""NVIDIA TensorRT for RTX: consumer GPUs, engines built in seconds."""

from __future__ import annotations

from typing import Annotated, ClassVar

from hotlap.providers.provider import ADDRESS, NonNegative, Provider, option

__all__ = ["NvTensorRtRtx"]


class NvTensorRtRtx(Provider, frozen=True):
    """Names are those of ONNX Runtime's `nv_provider_options.h`; other ones are refused by ORT itself."""

    name: ClassVar[str] = "nv_tensorrt_rtx"
    ort_name: ClassVar[str] = "NvTensorRTRTXExecutionProvider"
    install: ClassVar[str] = "pip install onnxruntime-ep-nv-tensorrt-rtx beside onnxruntime"
    plugin: ClassVar[str | None] = "onnxruntime_ep_nv_tensorrt_rtx"
    instead: ClassVar[dict[str, str]] = {
        "user_compute_stream": ADDRESS,
        "has_user_compute_stream": ADDRESS,
        "trt_fp16_enable": "nothing: the precision is the model's own, so convert the model",
        "nv_cuda_graph_enable": "enable_cuda_graph",
    }

    device_id: Annotated[NonNegative | None, option("Which GPU, counted from 0.", default="0")] = None
    nv_max_workspace_size: Annotated[
        NonNegative | None, option("Most bytes of scratch memory; 0: TensorRT decides.", default="0")
    ] = None
    nv_max_shared_mem_size: Annotated[
        NonNegative | None, option("Most bytes of shared memory a kernel may use; 0: no limit.", default="0")
    ] = None
    nv_dump_subgraphs: Annotated[bool | None, option("Write the subgraphs as files.", default="false")] = None
    nv_detailed_build_log: Annotated[
        bool | None, option("Log each step of building the engine.", default="false")
    ] = None
    nv_profile_min_shapes: Annotated[
        str | None, option('Smallest shapes: "x:1x3x224x224,y:1x10".', default="from the model")
    ] = None
    nv_profile_opt_shapes: Annotated[
        str | None, option("Usual shapes, for which the engine is tuned.", default="from the model")
    ] = None
    nv_profile_max_shapes: Annotated[str | None, option("Largest shapes.", default="from the model")] = None
    nv_multi_profile_enable: Annotated[
        bool | None, option("Allow several shape profiles in one engine.", default="false")
    ] = None
    enable_cuda_graph: Annotated[
        bool | None, option("Capture the run as a CUDA graph and replay it.", default="false")
    ] = None
    nv_use_external_data_initializer: Annotated[
        bool | None, option("Hand weights over from where they lie, with no copy.", default="false")
    ] = None
    nv_runtime_cache_path: Annotated[
        str | None, option("Folder of kernels compiled on this GPU.", holds="folder", default="none")
    ] = None
