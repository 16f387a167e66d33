"""Environment variables that change what ONNX Runtime (ORT) does, and those that only seem to."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

__all__ = ["EnvNote", "environment"]

_SESSIONS = "threads of sessions that set none (ORT 1.29 and newer); hotlap's own sessions set theirs"
_NOT_ORT = "ORT does not read it: its wheels have their own thread pool; numpy and torch may"
_NOTHING = "nothing in ORT reads it"

_MATTERS: dict[str, str] = {
    "ORT_INTRA_OP_NUM_THREADS": _SESSIONS,
    "ORT_INTER_OP_NUM_THREADS": "threads between operators of sessions in parallel mode that set none",
    "ORT_DISABLE_FLASH_ATTENTION": "other attention kernels: other speed, slightly other numbers",
    "ORT_GQA_DISABLE_FLASH_ATTENTION": "other attention kernels: other speed, slightly other numbers",
    "ORT_BEAM_SEARCH_USE_FAST_TOPK": "another top-k in beam search",
    "ORT_DISABLE_TELEMETRY": "telemetry off where the wheel has any; no effect on speed",
    "CUDA_VISIBLE_DEVICES": "only these GPUs can be used",
    "NVIDIA_VISIBLE_DEVICES": "only these GPUs are put into the container",
    "NVIDIA_TF32_OVERRIDE": "0 switches TF32 off: other speed and other numbers on the GPU",
    "CUDA_LAUNCH_BLOCKING": "1 makes every kernel wait: slow, for debugging",
    "CUDA_DEVICE_ORDER": "changes which GPU is number 0",
    "HIP_VISIBLE_DEVICES": "only these AMD GPUs can be used",
    "ROCR_VISIBLE_DEVICES": "only these AMD GPUs can be used",
    "LD_LIBRARY_PATH": "where the loader looks first: decides which CUDA and cuDNN are found",
    "LD_PRELOAD": "libraries put before all others, often another memory allocator",
    "MALLOC_ARENA_MAX": "arenas of glibc's allocator: memory use with many threads",
    "GLIBC_TUNABLES": "glibc's allocator and huge pages",
    "PYTHON_CPU_COUNT": "what Python says is the number of CPUs",
    "PYTHONPATH": "where Python looks first: decides which onnxruntime is imported",
    "OPENBLAS_CORETYPE": "picks numpy's kernels by hand: the wrong one slows work before and after the model",
    "NPY_DISABLE_CPU_FEATURES": "slower numpy before and after the model",
}
_SEEMS_TO: dict[str, str] = {
    "OMP_NUM_THREADS": _NOT_ORT,
    "MKL_NUM_THREADS": _NOT_ORT,
    "OPENBLAS_NUM_THREADS": _NOT_ORT,
    "NUMEXPR_NUM_THREADS": _NOT_ORT,
    "VECLIB_MAXIMUM_THREADS": _NOT_ORT,
    "OMP_WAIT_POLICY": "ORT does not read it: spinning is a session option",
    "OMP_PROC_BIND": "ORT does not read it: affinity is a session option",
    "OMP_PLACES": "ORT does not read it: affinity is a session option",
    "GOMP_CPU_AFFINITY": "ORT does not read it: affinity is a session option",
    "KMP_AFFINITY": "ORT does not read it: affinity is a session option",
    "KMP_BLOCKTIME": "ORT does not read it: spinning is a session option",
    "ORT_NUM_THREADS": f"{_NOTHING}; ORT_INTRA_OP_NUM_THREADS is the one it reads",
    "ONNXRUNTIME_THREAD_COUNT": f"{_NOTHING}; ORT_INTRA_OP_NUM_THREADS is the one it reads",
    "ONNXRUNTIME_DISABLE_THREAD_AFFINITY": f"{_NOTHING}; setting the thread count does it",
    "ORT_LOG_LEVEL": f"{_NOTHING}; the log level is a session option",
    "ONNXRUNTIME_LOG_SEVERITY_LEVEL": f"{_NOTHING}; the log level is a session option",
}
"""Checked against the names in the library of the 1.32 CPU wheel."""

_PREFIXES: dict[str, str] = {
    "ORT_TENSORRT_": "an option of the TensorRT provider where the session sets none",
    "ORT_MIGRAPHX_": "an option of the MIGraphX provider where the session sets none",
    "ORT_": "starts like a variable of ORT, but hotlap does not know it: it may do nothing",
}


class EnvNote(msgspec.Struct, frozen=True, kw_only=True):
    """A variable that is set, and what it does.

    Attributes:
        name, value: as set.
        matters: it changes what runs; False: it only seems to.
        effect: one line for people.
    """

    name: str
    value: str
    matters: bool
    effect: str


def environment(variables: Mapping[str, str] | None = None) -> tuple[EnvNote, ...]:
    """Notes on those variables of this process, or of the mapping, that are about speed."""
    given = os.environ if variables is None else variables
    notes = [
        EnvNote(name=name, value=given[name], matters=matters, effect=effect)
        for table, matters in ((_MATTERS, True), (_SEEMS_TO, False))
        for name, effect in table.items()
        if name in given
    ]
    known = {*_MATTERS, *_SEEMS_TO}
    for name in sorted(given):
        prefix = next((p for p in _PREFIXES if name.startswith(p)), None)
        if prefix and name not in known:
            matters = prefix != "ORT_"
            notes.append(EnvNote(name=name, value=given[name], matters=matters, effect=_PREFIXES[prefix]))
    return tuple(notes)
