"""NVIDIA GPUs through CUDA and cuDNN."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from hotlap.providers.provider import ADDRESS, Arena, NonNegative, Positive, Provider, option

__all__ = ["Cuda"]


class Cuda(Provider, frozen=True):
    """Names and defaults are those of ONNX Runtime's `cuda_execution_provider_info.cc` and `.h`."""

    name: ClassVar[str] = "cuda"
    ort_name: ClassVar[str] = "CUDAExecutionProvider"
    extra_name: ClassVar[str] = "gpu"
    install: ClassVar[str] = "pip install 'hotlap[gpu]'"
    instead: ClassVar[dict[str, str]] = {
        "user_compute_stream": ADDRESS,
        "has_user_compute_stream": ADDRESS,
        "gpu_external_alloc": ADDRESS,
        "gpu_external_free": ADDRESS,
        "gpu_external_empty_cache": ADDRESS,
        "cuda_mem_limit": "gpu_mem_limit",
    }

    device_id: Annotated[NonNegative | None, option("Which GPU, counted from 0.", default="0")] = None
    gpu_mem_limit: Annotated[
        Positive | None,
        option(
            "Most bytes that the arena takes from the GPU; kernels may take more beside it.", default="all"
        ),
    ] = None
    arena_extend_strategy: Annotated[
        Arena | None,
        option(
            "How the arena grows: to the next power of two, or by just what is asked for.",
            default="kNextPowerOfTwo",
        ),
    ] = None
    cudnn_conv_algo_search: Annotated[
        Literal["EXHAUSTIVE", "HEURISTIC", "DEFAULT"] | None,
        option(
            "How cuDNN picks a convolution: try all on a shape's first run, guess, or take a fixed one.",
            default="EXHAUSTIVE",
            numbers=True,
        ),
    ] = None
    cudnn_conv_use_max_workspace: Annotated[
        bool | None,
        option("Let the search use as much memory as it wants; off: 32 MB.", default="true", numbers=True),
    ] = None
    cudnn_conv1d_pad_to_nc1d: Annotated[
        bool | None,
        option("Pad a 1-D convolution to [N,C,1,D], not to [N,C,D,1].", default="false", numbers=True),
    ] = None
    do_copy_in_default_stream: Annotated[
        bool | None,
        option("Copy on the compute stream; off: on a stream of its own, which can race.", default="true"),
    ] = None
    enable_cuda_graph: Annotated[
        bool | None,
        option(
            "Capture the run as a CUDA graph and replay it; shapes and buffers must then stay.",
            default="false",
        ),
    ] = None
    tunable_op_enable: Annotated[
        bool | None, option("Use kernels that were tuned on this GPU.", default="false", numbers=True)
    ] = None
    tunable_op_tuning_enable: Annotated[
        bool | None,
        option("Tune kernels while running; needs tunable_op_enable.", default="false", numbers=True),
    ] = None
    tunable_op_max_tuning_duration_ms: Annotated[
        NonNegative | None, option("Most milliseconds spent on tuning one kernel; 0: no limit.", default="0")
    ] = None
    enable_skip_layer_norm_strict_mode: Annotated[
        bool | None,
        option("Compute SkipLayerNormalization in float32: slower, closer.", default="false", numbers=True),
    ] = None
    prefer_nhwc: Annotated[
        bool | None, option("Run convolutions channels-last.", default="false", numbers=True)
    ] = None
    use_ep_level_unified_stream: Annotated[
        bool | None, option("One CUDA stream for the whole provider.", default="false")
    ] = None
    use_tf32: Annotated[
        bool | None,
        option(
            "Let float32 products use TF32, which keeps 10 bits of each factor.", default="true", numbers=True
        ),
    ] = None
    fuse_conv_bias: Annotated[
        bool | None, option("Let cuDNN fuse a convolution with its bias.", default="false", numbers=True)
    ] = None
    sdpa_kernel: Annotated[
        NonNegative | None,
        option(
            "Bit mask of the attention kernels allowed: 1 flash, 2 efficient, 4 TensorRT fused, 8 cuDNN,"
            " 16 plain; 0 lets ORT choose.",
            default="0",
            numbers=True,
        ),
    ] = None
