"""Qualcomm's QNN: the NPU (HTP), GPU and CPU of Snapdragon chips."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from hotlap.providers.provider import NonNegative, Provider, option

__all__ = ["PERFORMANCE_MODES", "Qnn"]

Performance = Literal[
    "burst",
    "balanced",
    "default",
    "high_performance",
    "high_power_saver",
    "low_balanced",
    "extreme_power_saver",
    "low_power_saver",
    "power_saver",
    "sustained_high_performance",
]
PERFORMANCE_MODES: tuple[str, ...] = Performance.__args__  # type: ignore[attr-defined]  # mypy sees no alias

_WRONG = "nothing: it is for debugging, and makes the answers wrong"


class Qnn(Provider, frozen=True):
    """Names and values are those of ONNX Runtime's `onnxruntime_c_api.h` ("QNN supported keys")."""

    name: ClassVar[str] = "qnn"
    ort_name: ClassVar[str] = "QNNExecutionProvider"
    install: ClassVar[str] = "pip install onnxruntime-qnn (Snapdragon)"
    plugin: ClassVar[str | None] = "onnxruntime_qnn"
    instead: ClassVar[dict[str, str]] = {
        "qnn_saver_path": _WRONG,
        "dump_qnn_ir_dlc": _WRONG,
        "dump_qnn_ir_dlc_dir": _WRONG,
        "qnn_ir_backend_path": _WRONG,
    }

    backend_type: Annotated[
        Literal["cpu", "gpu", "htp"] | None,
        option(
            "Which unit of the chip computes; not together with backend_path.", default="htp", numbers=True
        ),
    ] = None
    backend_path: Annotated[
        str | None,
        option(
            "Shared library of the backend; not together with backend_type.", holds="code", default="none"
        ),
    ] = None
    profiling_level: Annotated[
        Literal["off", "basic", "detailed"] | None, option("How much QNN's profiler records.", default="off")
    ] = None
    profiling_file_path: Annotated[
        str | None, option("CSV file of the profiler.", holds="file", default="none")
    ] = None
    rpc_control_latency: Annotated[
        NonNegative | None, option("Latency of remote calls, in microseconds.", default="QNN's")
    ] = None
    vtcm_mb: Annotated[
        NonNegative | None, option("Fast memory of the NPU to use, in MB; 0: not set.", default="0")
    ] = None
    htp_performance_mode: Annotated[
        Performance | None, option("Power against speed of the NPU.", default="default")
    ] = None
    qnn_context_priority: Annotated[
        Literal["low", "normal", "normal_high", "high"] | None,
        option("Priority among the users of the chip.", default="normal"),
    ] = None
    htp_graph_finalization_optimization_mode: Annotated[
        Literal[0, 1, 2, 3] | None,
        option(
            "Effort spent on the graph at load; 3 takes longest and runs fastest.", default="0", numbers=True
        ),
    ] = None
    soc_model: Annotated[
        NonNegative | None, option("Number of the chip's model, from the QNN SDK; 0: unknown.", default="0")
    ] = None
    htp_arch: Annotated[
        Literal[0, 68, 69, 73, 75, 81] | None,
        option("Lowest NPU architecture to support; 0: none.", default="0"),
    ] = None
    device_id: Annotated[NonNegative | None, option("The device that htp_arch is about.", default="0")] = None
    enable_htp_fp16_precision: Annotated[
        bool | None,
        option("Compute a float32 model in float16 on the NPU.", default="true", numbers=True),
    ] = None
    offload_graph_io_quantization: Annotated[
        bool | None,
        option("Leave quantising inputs and outputs to another provider.", default="true", numbers=True),
    ] = None
    enable_htp_spill_fill_buffer: Annotated[
        bool | None, option("Share spill buffers; used while making a context binary.", default="false")
    ] = None
    enable_htp_shared_memory_allocator: Annotated[
        bool | None,
        option("Inputs and outputs in memory shared with the NPU; needs libcdsprpc.", default="false"),
    ] = None
    dump_json_qnn_graph: Annotated[
        bool | None, option("Write the QNN graphs as JSON files.", default="false")
    ] = None
    json_qnn_graph_dir: Annotated[
        str | None, option("Folder of those JSON files.", holds="folder", default="the working directory")
    ] = None
    op_packages: Annotated[
        str | None,
        option(
            'Custom operators: "op:library:interface[:target]", comma between.', holds="code", default="none"
        ),
    ] = None
    skip_qnn_version_check: Annotated[
        bool | None,
        option("Run with another QNN than ORT was built for; may crash.", default="false", numbers=True),
    ] = None
