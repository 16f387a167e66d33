"""The attributes of ORT's SessionOptions that a plan can set: the names under [session] without a dot."""

from __future__ import annotations

from functools import partial

from hotlap.plan.options import Option

__all__ = ["ATTRIBUTES"]

_attribute = partial(Option, attribute=True)

ATTRIBUTES: tuple[Option, ...] = (
    _attribute(
        "graph_optimization_level",
        "enum",
        "How far the graph is rewritten. Lower levels only help to find a wrong rewrite: they halve the speed"
        " of convolutions.",
        default="ORT_ENABLE_ALL",
        values=(
            "ORT_DISABLE_ALL",
            "ORT_ENABLE_BASIC",
            "ORT_ENABLE_EXTENDED",
            "ORT_ENABLE_LAYOUT",
            "ORT_ENABLE_ALL",
        ),
        ort_enum="GraphOptimizationLevel",
        changes_numbers=True,
    ),
    _attribute(
        "execution_mode",
        "enum",
        "ORT_PARALLEL runs independent nodes at once, on a second thread pool.",
        default="ORT_SEQUENTIAL",
        values=("ORT_SEQUENTIAL", "ORT_PARALLEL"),
        ort_enum="ExecutionMode",
    ),
    _attribute(
        "inter_op_num_threads",
        "int",
        "Threads of that second pool. Needs ORT_PARALLEL.",
        default="0 (ORT decides)",
        low=1,
        high=1024,
    ),
    _attribute(
        "execution_order",
        "enum",
        "The order in which nodes run.",
        default="DEFAULT",
        values=("DEFAULT", "PRIORITY_BASED", "MEMORY_EFFICIENT"),
        ort_enum="ExecutionOrder",
    ),
    _attribute(
        "enable_cpu_mem_arena",
        "bool",
        "Keep freed memory for the next run. Off: memory goes back to the system, small models use more.",
        default="true",
    ),
    _attribute(
        "enable_mem_pattern",
        "bool",
        "Plan one block of memory for each set of shapes. Off where shapes vary without end.",
        default="true",
    ),
    _attribute(
        "enable_mem_reuse", "bool", "Reuse the memory of tensors that are no longer needed.", default="true"
    ),
    _attribute(
        "use_deterministic_compute",
        "bool",
        "Prefer kernels that give the same answer twice, where a provider has them.",
        default="false",
        changes_numbers=True,
    ),
    _attribute(
        "log_severity_level",
        "int",
        "Least severity that ORT logs: 0 verbose, 1 info, 2 warning, 3 error, 4 fatal.",
        default="the process's (2)",
        low=0,
        high=4,
    ),
    _attribute(
        "log_verbosity_level",
        "int",
        "Detail of the verbose log, in builds that have it.",
        default="0",
        low=0,
        high=100,
    ),
    _attribute("logid", "str", "Prefix of the session's log lines.", default='""'),
    _attribute(
        "optimized_model_filepath",
        "path",
        "Write the rewritten graph to this file; at the two highest levels, for CPUs like this one.",
        default='"" (not written)',
    ),
    _attribute("enable_profiling", "bool", "Write the time of each node to a JSON file.", default="false"),
    _attribute(
        "profile_file_prefix",
        "path",
        "Beginning of that file's name; ORT appends the time.",
        default='"onnxruntime_profile_"',
    ),
)
