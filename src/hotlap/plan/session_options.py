"""The session options of ORT that a plan can set: attributes of its object, and entries of its config map.

ORT accepts misspelt keys, keys that it is too old for, and bad values, all in silence. So a plan takes only
what stands here. Names and meanings: ONNX Runtime's `onnxruntime_session_options_config_keys.h` and
`dml_session_options_config_keys.h`. `since`: the first wheel of onnxruntime (1.24.4 to 1.32.0, x86-64 and
arm64) whose binary holds the key.
"""

from __future__ import annotations

from hotlap.plan.options import Option
from hotlap.plan.session_attributes import ATTRIBUTES

__all__ = ["SESSION_OPTIONS"]

_CORES = r"\d+(-\d+)?(,\d+(-\d+)?)*"

_THREADS = (
    Option(
        "session.force_spinning_stop",
        "bool",
        "Waiting threads stop spinning when the last call returns: less CPU time, more latency.",
        default="false",
    ),
    Option(
        "session.intra_op.spin_backoff_max",
        "int",
        "Most pauses between two looks for work while spinning; 1: none. ORT counts more than 64 as 64.",
        default="1",
        low=1,
        high=64,
        since="1.26",
    ),
    Option(
        "session.inter_op.allow_spinning",
        "bool",
        "Waiting threads of the second pool spin. Needs ORT_PARALLEL.",
        default="true",
    ),
    Option(
        "session.inter_op.spin_duration_us",
        "int",
        "How long they spin, in microseconds. Needs ORT_PARALLEL.",
        default="a count, not a time",
        low=1,
        high=1_000_000,
        since="1.26",
    ),
    Option(
        "session.inter_op.spin_backoff_max",
        "int",
        "As for the first pool. Needs ORT_PARALLEL.",
        default="1",
        low=1,
        high=64,
        since="1.26",
    ),
    Option(
        "session.dynamic_block_base",
        "int",
        "Split the work of an operator into smaller and smaller blocks, beginning at 1/(threads * this);"
        " 0: equal blocks. 4 is usual; only with several threads.",
        default="0",
        low=0,
        high=1024,
    ),
    Option(
        "session.intra_op_thread_affinities",
        "str",
        "Logical processors of each thread but the calling one, counted from 1: a semicolon between threads.",
        default='"" (not pinned)',
        pattern=rf"{_CORES}(;{_CORES})*",
        example="3,4;5-6",
    ),
)

_MEMORY = (
    Option(
        "session.set_denormal_as_zero",
        "bool",
        "Treat the tiniest numbers as zero: models full of them run up to 40 times slower without. Trap: it"
        " works only in the first session of a process, and numpy in the same process then does so too.",
        default="false",
        changes_numbers=True,
    ),
    Option(
        "session.disable_prepacking",
        "bool",
        "Do not rearrange weights for speed: saves as much memory as the weights take; slower.",
        default="false",
    ),
    Option(
        "session.use_env_allocators",
        "bool",
        "Take memory from the allocators that the process has registered with ORT; does nothing without one.",
        default="false",
    ),
    Option(
        "session.use_device_allocator_for_initializers",
        "bool",
        "Keep weights outside of the arena.",
        default="false",
    ),
    Option(
        "session.collect_node_memory_stats_to_file",
        "path",
        "Write the memory of each node to this CSV file. Switch enable_mem_pattern off beside it.",
        default='"" (not written)',
    ),
)

_LOADING = (
    Option(
        "session.load_model_format",
        "enum",
        "The format of the model file, where its name does not tell.",
        default="from the file's name",
        values=("ONNX", "ORT"),
    ),
    Option(
        "session.save_model_format",
        "enum",
        "The format of optimized_model_filepath.",
        default="from the file's name",
        values=("ONNX", "ORT"),
    ),
    Option(
        "session.use_memory_mapped_ort_model",
        "bool",
        "Map a file in ORT format into memory instead of reading it.",
        default="false",
        since="1.26",
    ),
    Option(
        "session.optimized_model_external_initializers_file_name",
        "path",
        "Put the weights of optimized_model_filepath into this file, beside it.",
        default='"" (inside the model)',
        relative=True,
    ),
    Option(
        "session.optimized_model_external_initializers_min_size_in_bytes",
        "int",
        "Smallest weight, in bytes, that goes there.",
        default="1024",
        low=0,
    ),
    Option(
        "session.save_external_prepacked_constant_initializers",
        "bool",
        "Put rearranged weights there too: they need no work at the next load. Doubles the file.",
        default="false",
    ),
    Option(
        "session.allow_released_opsets_only",
        "bool",
        "Refuse a model of an opset that is not released yet.",
        default="true",
    ),
    Option(
        "session.strict_shape_type_inference",
        "bool",
        "Refuse a model whose declared shapes contradict the computed ones.",
        default="false",
    ),
    Option(
        "session.disable_aot_function_inlining",
        "bool",
        "Leave the model's own functions as they are until the graph is split.",
        default="false",
    ),
    Option(
        "session.disable_model_compile",
        "bool",
        "Refuse a model that some provider would have to compile.",
        default="false",
    ),
    Option(
        "session.fail_on_suboptimal_compiled_model",
        "bool",
        "Refuse a compiled model that runs, but would run better when compiled again.",
        default="false",
    ),
)

_GRAPH = (
    Option(
        "session.graph_optimizations_loop_level",
        "int",
        "Repeat the rewriting: 0 never, 1 after the last stage changed something, 2 after any.",
        default="1",
        values=(0, 1, 2),
        changes_numbers=True,
    ),
    Option(
        "optimization.disable_specified_optimizers",
        "str",
        "Rewriters to leave out, by name, a semicolon between (with a comma ORT leaves out none, in silence):"
        " finds the one that breaks an answer.",
        default='""',
        pattern=r"\w+(;\w+)*",
        example="ConvActivationFusion;GeluFusionL2",
        changes_numbers=True,
    ),
    Option(
        "optimization.enable_gelu_approximation",
        "bool",
        "Compute Gelu by its tanh approximation.",
        default="false",
        changes_numbers=True,
    ),
    Option(
        "optimization.enable_cast_chain_elimination",
        "bool",
        "Drop casts that undo each other, with the rounding they did.",
        default="false",
        changes_numbers=True,
    ),
    Option(
        "optimization.constant_folding_max_output_size_in_bytes",
        "int",
        "Largest constant that is computed at load; 0: no limit.",
        default="1073741824",
        low=0,
        since="1.27",
    ),
    Option(
        "optimization.minimal_build_optimizations",
        "enum",
        "For files in ORT format: record the rewriting for small builds of ORT, or do only what those can.",
        default='"" (all of a full build)',
        values=("save", "apply"),
    ),
)

_QUANTISED = (
    Option(
        "session.disable_quant_qdq",
        "bool",
        "Leave QuantizeLinear and DequantizeLinear unfused: for finding errors, slow.",
        default="false (true with directml)",
        changes_numbers=True,
    ),
    Option(
        "session.disable_qdq_constant_folding",
        "bool",
        "Never fold a DequantizeLinear into its weight.",
        default="false",
        since="1.26",
        changes_numbers=True,
    ),
    Option(
        "session.disable_double_qdq_remover",
        "bool",
        "Keep the middle of Q → DQ → Q → DQ.",
        default="false",
        changes_numbers=True,
    ),
    Option(
        "session.enable_quant_qdq_cleanup",
        "bool",
        "Drop Q → DQ pairs that are left between float operators: faster, other answers.",
        default="false",
        changes_numbers=True,
    ),
    Option(
        "session.qdqisint8allowed",
        "bool",
        "Write an ORT-format file whose int8 stays signed, for ARM.",
        default="by the machine",
        changes_numbers=True,
    ),
    Option(
        "session.x64quantprecision",
        "bool",
        "On x86 without VNNI, multiply unsigned by unsigned: slower, but the sums cannot overflow.",
        default="false",
        changes_numbers=True,
    ),
    Option(
        "session.enable_dq_matmulnbits_fusion",
        "bool",
        "Fuse DequantizeLinear and MatMul into MatMulNBits.",
        default="false",
        changes_numbers=True,
    ),
    Option(
        "session.qdq_matmulnbits_accuracy_level",
        "int",
        "Arithmetic of that MatMulNBits: 0 unset, 1 float32, 2 float16, 3 bfloat16, 4 int8.",
        default="4",
        values=(0, 1, 2, 3, 4),
        changes_numbers=True,
    ),
    Option(
        "session.qdq_matmulnbits_block_size",
        "int",
        "Weights that share one scale, where the model does not say; 0: 32, -1: by the size.",
        default="0",
        values=(-1, 0, 16, 32, 64, 128, 256),
        since="1.25",
        changes_numbers=True,
    ),
)

_KERNELS = (
    Option(
        "mlas.enable_gemm_fastmath_arm64_bfloat16",
        "bool",
        "On ARM, multiply float32 matrices in bfloat16.",
        default="false",
        changes_numbers=True,
    ),
    Option(
        "mlas.use_lut_gemm",
        "bool",
        "Multiply matrices of few bits by looking products up in a table.",
        default="false",
        changes_numbers=True,
    ),
    Option(
        "mlas.disable_kleidiai",
        "bool",
        "On ARM, do without the KleidiAI kernels.",
        default="false",
        since="1.25",
        changes_numbers=True,
    ),
    Option(
        "mlas.kleidiai.conv_igemm_max_work",
        "int",
        "On ARM with SME, the work above which a convolution takes the other route; 0: ORT decides.",
        default="0",
        low=0,
        since="1.28",
    ),
)

_PLACEMENT = (
    Option(
        "session.disable_cpu_ep_fallback",
        "bool",
        'Fail rather than run a node on the CPU. Only without "cpu" in the chain.',
        default="false",
    ),
    Option(
        "session.layer_assignment_settings",
        "str",
        "Place nodes on devices by their layer annotation: device(prefix, =exact); device(…).",
        default='""',
        since="1.25",
        changes_numbers=True,
    ),
    Option(
        "session.name_based_layer_assignment",
        "str",
        "Place nodes on devices by a part of their name: device(part, part); device(…).",
        default='""',
        since="1.28",
        changes_numbers=True,
    ),
    Option(
        "session.resource_cuda_partitioning_settings",
        "str",
        'Place on the GPU what fits: "KB,file of node statistics"; either part may be missing.',
        default='""',
        pattern=r"\d*,[^/\\:]*",
        example="4000000,stats.csv",
        needs=("cuda",),
        changes_numbers=True,
    ),
)

_COMPILED = (
    Option(
        "ep.context_enable",
        "bool",
        "Write a model that holds what a provider has compiled.",
        default="false",
    ),
    Option("ep.context_file_path", "path", "That file.", default="the model's name with _ctx"),
    Option(
        "ep.context_embed_mode",
        "bool",
        "Put the compiled part inside that file, not beside it.",
        default="false",
    ),
    Option(
        "ep.context_node_name_prefix",
        "str",
        "Prefix of its nodes, so that several can be joined.",
        default='""',
    ),
    Option(
        "ep.context_model_external_initializers_file_name",
        "path",
        "File of the weights that stay on the CPU.",
        default='"" (inside the model)',
    ),
    Option("ep.share_ep_contexts", "bool", "Share compiled parts among sessions.", default="false"),
    Option("ep.stop_share_ep_contexts", "bool", "This session is the last that shares.", default="false"),
    Option(
        "ep.enable_weightless_ep_context_nodes",
        "bool",
        "Compiled parts without weights; ORT hands those over.",
        default="false",
        since="1.32",
    ),
)

_DIRECTML = tuple(
    Option(name, "bool", doc, default="false", needs=("directml",))
    for name, doc in (
        ("ep.dml.disable_graph_fusion", "Run node by node instead of as one graph."),
        ("ep.dml.enable_graph_capture", "Record the commands once and replay them; shapes must stay."),
        ("ep.dml.enable_graph_serialization", "Write the fused graph as a file, for finding errors."),
        ("ep.dml.enable_cpu_sync_spinning", "Spin while waiting for the GPU: less latency, more CPU time."),
        ("ep.dml.disable_memory_arena", "Do not keep freed GPU memory."),
    )
)

_TABLE = (
    ATTRIBUTES
    + _THREADS
    + _MEMORY
    + _LOADING
    + _GRAPH
    + _QUANTISED
    + _KERNELS
    + _PLACEMENT
    + _COMPILED
    + _DIRECTML
)
SESSION_OPTIONS: dict[str, Option] = {o.name: o for o in _TABLE}
