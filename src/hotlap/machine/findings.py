"""What is wrong or odd on this machine, and what to do: one line each, the worst first."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hotlap.cpus import VARIABLES_SINCE, CpuBudget
from hotlap.machine.cpuinfo import Processor
from hotlap.machine.environment import EnvNote
from hotlap.machine.gpus import Gpu
from hotlap.machine.onnxruntime import OnnxRuntime
from hotlap.machine.providers import ProviderReport
from hotlap.machine.versions import numbers
from hotlap.runtime.ort import MINIMUM

__all__ = ["findings_of"]

_DRIVERS_THAT_SAVE = ("intel_pstate", "amd-pstate-epp")
"""With these, "powersave" is the everyday setting and holds no clock down (kernel: admin-guide/pm)."""


def findings_of(
    cpu: Processor,
    cpus: CpuBudget,
    gpus: tuple[Gpu, ...],
    ort: OnnxRuntime,
    providers: tuple[ProviderReport, ...],
    environment: tuple[EnvNote, ...],
) -> tuple[str, ...]:
    """All findings on one machine, each a sentence that ends in what to do; () where all is well."""
    return (
        *_of_onnxruntime(ort),
        *_of_threads(cpus, ort),
        *_of_variables(environment),
        *_of_providers(providers, gpus, ort),
        *_of_processor(cpu),
    )


def _of_onnxruntime(ort: OnnxRuntime) -> Iterator[str]:
    if not ort.imports:
        yield f"{ort.error}: {ort.remedy}"
    elif not ort.usable:
        oldest = ".".join(map(str, MINIMUM))
        upgrade = f"pip install --upgrade {next(iter(ort.wheels), 'onnxruntime')}"
        yield f"onnxruntime {ort.version} is too old, hotlap needs {oldest}: {upgrade}"
    if len(ort.wheels) > 1:
        names = " and ".join(f"{name} {where}" for name, where in ort.wheels.items())
        used = f" (imported: {ort.version} from {ort.file})" if ort.imports else ""
        yield (
            f"{names} are both installed, but share one module: one overwrites or hides the other{used}. "
            f"Keep one: pip uninstall -y {' '.join(ort.wheels)}, then pip install the one you want"
        )


def _of_providers(
    providers: tuple[ProviderReport, ...], gpus: tuple[Gpu, ...], ort: OnnxRuntime
) -> Iterator[str]:
    for report in providers:
        if report.state == "does not load":
            yield f"{report.name}: {report.reason}{f'; {report.remedy}' if report.remedy else ''}"
    nvidia = next((gpu for gpu in gpus if gpu.name.startswith("NVIDIA")), None)
    if nvidia and ort.imports and not any("CUDA" in name for name in ort.compiled):
        wheels = " ".join(ort.wheels) or "onnxruntime"
        yield (
            f"{nvidia.name} is here, but this onnxruntime has no CUDA provider: "
            f"pip uninstall -y {wheels}, then pip install 'hotlap[gpu]'"
        )


def _of_variables(environment: tuple[EnvNote, ...]) -> Iterator[str]:
    for note in environment:
        if note.name in ("ORT_INTRA_OP_NUM_THREADS", "ORT_INTER_OP_NUM_THREADS"):
            # ORT takes digits alone: on a sign or a blank it already refuses to make a session.
            if note.value and not re.fullmatch(r"[0-9]+", note.value):
                yield (
                    f'{note.name}="{note.value}" is no plain number: every session that sets no thread count '
                    f"fails. Give digits alone, or unset it"
                )
        elif note.name == "CUDA_VISIBLE_DEVICES" and note.value.strip() in ("", "-1", "NoDevFiles"):
            yield f'CUDA_VISIBLE_DEVICES="{note.value}" hides every NVIDIA GPU: unset it to use them'
        elif note.name in ("OPENBLAS_CORETYPE", "CUDA_LAUNCH_BLOCKING"):
            yield f"{note.name}={note.value}: {note.effect}: unset it"


def _of_threads(cpus: CpuBudget, ort: OnnxRuntime) -> Iterator[str]:
    if cpus.ort_default > cpus.threads:
        known = not ort.version or numbers(ort.version) >= VARIABLES_SINCE
        others = (
            f"For code that you do not own: export ORT_INTRA_OP_NUM_THREADS={cpus.threads} "
            "ORT_INTER_OP_NUM_THREADS=1"
            if known
            else "Set intra_op_num_threads in code that does not go through hotlap"
        )
        yield (
            f"a session that sets no thread count starts {cpus.ort_default} threads where "
            f"{cpus.threads} may run{_pinning(cpus)}: the others only get in the way. "
            f"hotlap sets its own count. {others}"
        )
    if cpus.quota is not None and cpus.quota < 1:
        yield (
            f"the quota of {cpus.quota:g} CPU pauses even a single thread for part of every period: "
            "expect a long tail of latency; give the container at least one CPU"
        )
    elif cpus.quota is not None and cpus.quota != int(cpus.quota) and cpus.threads == int(cpus.quota):
        yield (
            f"the quota of {cpus.quota:g} CPUs lets {cpus.threads} run without pauses, the rest is idle: "
            f"{cpus.threads + 1} would let one more run"
        )


def _pinning(cpus: CpuBudget) -> str:
    # With no count set, ORT pins each worker to a core, one that this process may not use included.
    beyond = cpus.affinity is not None and cpus.affinity < cpus.logical
    return (
        ' (it also tries to pin them to CPUs out of reach: "pthread_setaffinity_np failed")' if beyond else ""
    )


def _of_processor(cpu: Processor) -> Iterator[str]:
    if cpu.governor == "powersave" and cpu.driver not in _DRIVERS_THAT_SAVE:
        yield (
            "the clock is held at its lowest (governor powersave): numbers will be low; "
            "sudo cpupower frequency-set -g performance"
        )
    if cpu.mixed:
        yield (
            "the cores are of several kinds, and operators wait for the slowest: "
            "pin the process to the fast ones (taskset) and measure"
        )
