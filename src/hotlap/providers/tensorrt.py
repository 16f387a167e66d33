"""NVIDIA TensorRT: compiles an engine for one GPU and one range of shapes."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from hotlap.providers.provider import ADDRESS, NonNegative, Positive, Provider, option

__all__ = ["TensorRt"]

_ON_OPTION = "needs trt_int8_enable"


class TensorRt(Provider, frozen=True):
    """Names and defaults are those of ONNX Runtime's `tensorrt_execution_provider_info.cc` and `.h`."""

    name: ClassVar[str] = "tensorrt"
    ort_name: ClassVar[str] = "TensorrtExecutionProvider"
    extra_name: ClassVar[str] = "gpu"
    install: ClassVar[str] = "pip install 'hotlap[gpu]' tensorrt"
    instead: ClassVar[dict[str, str]] = {
        "user_compute_stream": ADDRESS,
        "has_user_compute_stream": ADDRESS,
        "trt_onnx_bytestream": ADDRESS,
        "trt_onnx_bytestream_size": ADDRESS,
        "trt_external_data_bytestream": ADDRESS,
        "trt_external_data_bytestream_size": ADDRESS,
        "enable_cuda_graph": "trt_cuda_graph_enable",
        "trt_cache_path": "trt_engine_cache_path",
    }

    device_id: Annotated[NonNegative | None, option("Which GPU, counted from 0.", default="0")] = None
    trt_fp16_enable: Annotated[bool | None, option("Compute in float16.", default="false", numbers=True)] = (
        None
    )
    trt_bf16_enable: Annotated[bool | None, option("Compute in bfloat16.", default="false", numbers=True)] = (
        None
    )
    trt_int8_enable: Annotated[
        bool | None,
        option("Compute in int8; needs a calibration table or a QDQ model.", default="false", numbers=True),
    ] = None
    trt_int8_calibration_table_name: Annotated[
        str | None,
        option(
            f"Name of the calibration table's file, in the cache folder; {_ON_OPTION}.",
            default="none",
            numbers=True,
        ),
    ] = None
    trt_int8_use_native_calibration_table: Annotated[
        bool | None,
        option(f"The table is TensorRT's own, not ORT's; {_ON_OPTION}.", default="false", numbers=True),
    ] = None
    trt_layer_norm_fp32_fallback: Annotated[
        bool | None,
        option("Keep layer normalisation in float32 where fp16 overflows.", default="false", numbers=True),
    ] = None
    trt_max_partition_iterations: Annotated[
        Positive | None, option("Most rounds of splitting the graph.", default="1000")
    ] = None
    trt_min_subgraph_size: Annotated[
        Positive | None, option("Smallest number of nodes worth an engine.", default="1")
    ] = None
    trt_max_workspace_size: Annotated[
        NonNegative | None, option("Most bytes of scratch memory; 0: all that the GPU has.", default="0")
    ] = None
    trt_engine_cache_enable: Annotated[
        bool | None, option("Keep built engines: building takes seconds to minutes.", default="false")
    ] = None
    trt_engine_cache_path: Annotated[
        str | None, option("Folder of kept engines.", holds="folder", default="the working directory")
    ] = None
    trt_engine_cache_prefix: Annotated[
        str | None, option("Beginning of their file names.", default="made from the model")
    ] = None
    trt_engine_hw_compatible: Annotated[
        bool | None,
        option("Engines that run on every GPU since Ampere; slower.", default="false", numbers=True),
    ] = None
    trt_timing_cache_enable: Annotated[
        bool | None, option("Keep kernel timings: the next build is faster.", default="false")
    ] = None
    trt_timing_cache_path: Annotated[
        str | None, option("Folder of kept timings.", holds="folder", default="the working directory")
    ] = None
    trt_force_timing_cache: Annotated[
        bool | None, option("Use timings of another GPU of the same compute capability.", default="false")
    ] = None
    trt_weight_stripped_engine_enable: Annotated[
        bool | None,
        option("Build engines without weights; they are filled in from the model.", default="false"),
    ] = None
    trt_onnx_model_folder_path: Annotated[
        str | None,
        option("Folder of the model whose weights fill a stripped engine.", holds="folder", default="none"),
    ] = None
    trt_engine_decryption_enable: Annotated[
        bool | None, option("Kept engines are encrypted.", default="false")
    ] = None
    trt_engine_decryption_lib_path: Annotated[
        str | None, option("Shared library that decrypts them.", holds="code", default="none")
    ] = None
    trt_extra_plugin_lib_paths: Annotated[
        str | None,
        option("Shared libraries of TensorRT plugins, semicolon between.", holds="code", default="none"),
    ] = None
    trt_force_sequential_engine_build: Annotated[
        bool | None, option("With several GPUs: build one engine at a time.", default="false")
    ] = None
    trt_context_memory_sharing_enable: Annotated[
        bool | None, option("Subgraphs share scratch memory.", default="false")
    ] = None
    trt_builder_optimization_level: Annotated[
        Annotated[int, msgspec.Meta(ge=0, le=5)] | None,
        option(
            "Effort of the builder, 0 to 5; more takes longer and runs faster.", default="3", numbers=True
        ),
    ] = None
    trt_build_heuristics_enable: Annotated[
        bool | None, option("Guess kernels instead of timing them all.", default="false", numbers=True)
    ] = None
    trt_sparsity_enable: Annotated[
        bool | None, option("Use sparse kernels where weights are 2:4 sparse.", default="false", numbers=True)
    ] = None
    trt_auxiliary_streams: Annotated[
        Annotated[int, msgspec.Meta(ge=-1)] | None,
        option("Further CUDA streams per engine; -1: TensorRT decides, 0: least memory.", default="-1"),
    ] = None
    trt_tactic_sources: Annotated[
        str | None,
        option('Libraries to take kernels from, as "-CUDNN,+CUBLAS".', default="TensorRT's", numbers=True),
    ] = None
    trt_profile_min_shapes: Annotated[
        str | None, option('Smallest shapes: "x:1x3x224x224,y:1x10".', default="what was seen")
    ] = None
    trt_profile_opt_shapes: Annotated[
        str | None, option("Usual shapes, for which the engine is tuned.", default="what was seen")
    ] = None
    trt_profile_max_shapes: Annotated[
        str | None,
        option("Largest shapes. A shape outside makes TensorRT build anew.", default="what was seen"),
    ] = None
    trt_cuda_graph_enable: Annotated[
        bool | None, option("Capture the run as a CUDA graph and replay it.", default="false")
    ] = None
    trt_dla_enable: Annotated[
        bool | None,
        option("Use the deep-learning accelerator of Jetson boards.", default="false", numbers=True),
    ] = None
    trt_dla_core: Annotated[NonNegative | None, option("Which of its cores.", default="0")] = None
    trt_dump_ep_context_model: Annotated[
        bool | None, option("Write a model that holds the built engine.", default="false")
    ] = None
    trt_ep_context_file_path: Annotated[
        str | None, option("File of that model.", holds="file", default="beside the model")
    ] = None
    trt_ep_context_embed_mode: Annotated[
        Annotated[int, msgspec.Meta(ge=0, le=1)] | None,
        option("1: the engine inside that model; 0: a path to it.", default="0"),
    ] = None
    trt_op_types_to_exclude: Annotated[
        str | None,
        option("Operators to leave to the next provider, comma between.", default="none", numbers=True),
    ] = None
    trt_preview_features: Annotated[
        str | None, option("TensorRT's preview features, comma between.", default="none", numbers=True)
    ] = None
    trt_load_user_initializer: Annotated[
        bool | None, option("Take weights from ORT's memory, not from the file again.", default="false")
    ] = None
    trt_dump_subgraphs: Annotated[bool | None, option("Write the subgraphs as files.", default="false")] = (
        None
    )
    trt_detailed_build_log: Annotated[
        bool | None, option("Log each step of building the engine.", default="false")
    ] = None
