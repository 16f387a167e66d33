"""The table of every run option of ORT that a plan can set.

Names and meanings: ONNX Runtime's `onnxruntime_run_options_config_keys.h` and `nv_provider_options.h`.
"""

from __future__ import annotations

from hotlap.plan.options import Option
from hotlap.providers.qnn import PERFORMANCE_MODES

__all__ = ["RUN_OPTIONS"]

_GRAPHS = ("cuda", "tensorrt", "nv_tensorrt_rtx", "webgpu")

_TABLE = (
    Option(
        "log_severity_level",
        "int",
        "Least severity that a run logs: 0 verbose, 1 info, 2 warning, 3 error, 4 fatal.",
        default="the session's",
        low=0,
        high=4,
        attribute=True,
    ),
    Option(
        "log_verbosity_level",
        "int",
        "Detail of the verbose log, in builds that have it.",
        default="0",
        low=0,
        high=100,
        attribute=True,
    ),
    Option("logid", "str", "Prefix of a run's log lines.", default='""', attribute=True),
    Option(
        "memory.enable_memory_arena_shrinkage",
        "str",
        "Give free memory of these arenas back after each run: device:number, a semicolon between. What the"
        " next run needs is asked of the system again.",
        default='""',
        pattern=r"(cpu|gpu):\d+(;(cpu|gpu):\d+)*",
        example="cpu:0;gpu:0",
    ),
    Option(
        "disable_synchronize_execution_providers",
        "bool",
        "Return before the GPU has finished: the caller must wait for its stream.",
        default="false",
        needs=("cuda", "tensorrt", "nv_tensorrt_rtx", "migraphx"),
    ),
    Option(
        "gpu_graph_id",
        "int",
        "Which captured graph to use; -1: none in this run. 0 is ORT's own.",
        default="0",
        low=-1,
        needs=_GRAPHS,
    ),
    Option(
        "nv_profile_index",
        "int",
        "Which of the engine's shape profiles to use, counted from 0.",
        default="by the shapes",
        low=0,
        needs=("nv_tensorrt_rtx",),
    ),
    Option(
        "qnn.htp_perf_mode",
        "enum",
        "Power against speed of the NPU during a run.",
        default="default",
        values=PERFORMANCE_MODES,
        needs=("qnn",),
    ),
    Option(
        "qnn.htp_perf_mode_post_run",
        "enum",
        "Power against speed of the NPU after it.",
        default="default",
        values=PERFORMANCE_MODES,
        needs=("qnn",),
    ),
    Option(
        "qnn.rpc_control_latency",
        "int",
        "Latency of remote calls, in microseconds.",
        default="QNN's",
        low=0,
        needs=("qnn",),
    ),
    Option(
        "qnn.lora_config",
        "path",
        "File of the LoRA adapter to apply.",
        default='""',
        needs=("qnn",),
        changes_numbers=True,
    ),
)
RUN_OPTIONS: dict[str, Option] = {o.name: o for o in _TABLE}
