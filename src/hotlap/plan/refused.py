"""Options that people write in a plan and that would do nothing, with what to write instead."""

from __future__ import annotations

__all__ = ["PLAN_INSTEAD", "RUN_INSTEAD", "SESSION_INSTEAD", "UNDOCUMENTED"]

_BY_PATH = "hotlap opens a model by its path, where ORT ignores it"
_FREE_AXES = "warm, with full shapes: ORT ignores the name of an axis that it does not find"
_THREADS_FIELD = "threads, at the top of the plan: hotlap sets ORT's number from it"
_SPIN_FIELD = 'spin, at the top of the plan ("off", "100us" or "on")'
_OWN_POOL = "nothing: each session has its own threads, as many as threads says"

SESSION_INSTEAD: dict[str, str] = {
    "intra_op_num_threads": _THREADS_FIELD,
    "session.intra_op_num_threads": _THREADS_FIELD + "; ORT ignores this key",
    "num_threads": _THREADS_FIELD,
    "session.inter_op_num_threads": "inter_op_num_threads; ORT ignores this key",
    "session.intra_op.allow_spinning": _SPIN_FIELD,
    "session.intra_op.spin_duration_us": _SPIN_FIELD,
    "allow_spinning": _SPIN_FIELD,
    "use_per_session_threads": _OWN_POOL,
    "session.use_per_session_threads": _OWN_POOL + "; ORT ignores this key",
    "session.enable_cpu_mem_arena": "enable_cpu_mem_arena; ORT ignores this key",
    "session.enable_mem_pattern": "enable_mem_pattern; ORT ignores this key",
    "session.enable_profiling": "enable_profiling; ORT ignores this key",
    "session.execution_mode": "execution_mode; ORT ignores this key",
    "session.graph_optimization_level": "graph_optimization_level; ORT ignores this key",
    "session.log_id": "logid; ORT ignores this key",
    "session.log_severity_level": "log_severity_level; ORT ignores this key",
    "session.log_verbosity_level": "log_verbosity_level; ORT ignores this key",
    "session.optimized_model_filepath": "optimized_model_filepath; ORT ignores this key",
    "session.use_deterministic_compute": "use_deterministic_compute; ORT ignores this key",
    "session.enable_quant_qdq": "session.disable_quant_qdq, which took its place",
    "session.record_ep_graph_assignment_info": "nothing: hotlap always sets it",
    "session.use_ort_model_bytes_directly": f"nothing: {_BY_PATH}",
    "session.use_ort_model_bytes_for_initializers": f"nothing: {_BY_PATH}",
    "session.model_external_initializers_file_folder_path": "nothing: weights lie in the model's folder",
    "session.debug_layout_transformation": "nothing: it is for developers of ORT",
    "session.node_partition_config_file": "nothing: it is for developers of ORT",
    "session.compile_only": "nothing: ORT sets it itself",
    "add_free_dimension_override_by_name": _FREE_AXES,
    "free_dimension_overrides": _FREE_AXES,
    "register_custom_ops_library": "custom_ops, at the top of the plan",
    "providers": "providers, at the top of the plan",
    "provider_options": "a table [provider.NAME] for each provider",
}

UNDOCUMENTED: tuple[str, ...] = (
    "ep.cpu.",
    "ep.cuda.",
    "ep.enable_weightless",
    "ep.context_source_model_path",
    "mlas.nchwc_",
    "mlas.qnbit.",
    "session.enable_moe_expert_",
    "session.enable_saved_runtime_optimizations",
    "session.external_data_loader.",
    "session.function_expansion_",
    "session.gqa_value_layout",
    "session.kernel_dispatch_policy",
    "session.max_shape_override",
    "session.moe",
    "session.prepack.enable_parallel",
    "session.strict_workspace_verification",
    "session.use_external_initializer_file_buffers_directly",
)
"""Beginnings of keys that are in ORT's binary and in no description of it: their values cannot be checked."""

RUN_INSTEAD: dict[str, str] = {
    "only_execute_path_to_fetches": "nothing: it works in training alone; cut the graph instead",
    "terminate": "nothing: it stops a run that is under way",
    "training_mode": "nothing: it is for training",
    "use_deterministic_compute": "use_deterministic_compute under [session]: ORT's run options never had it",
    "add_run_config_entry": "the entry's own name as a key of [run]",
}

PLAN_INSTEAD: dict[str, str] = {
    "intra_op_num_threads": "threads",
    "num_threads": "threads",
    "allow_spinning": 'spin ("off", "100us" or "on")',
    "provider_options": "a table [provider.NAME] for each provider",
    "execution_providers": "providers",
    "session_options": "a table [session]",
    "run_options": "a table [run]",
    "shapes": "warm",
}
