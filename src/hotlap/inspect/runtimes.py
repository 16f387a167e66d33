"""What a version of ONNX Runtime reads, what a kind of processor can do: the `Runtime` that is judged for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from hotlap.errors import UsageError
from hotlap.inspect.case import Runtime
from hotlap.machine.cpuinfo import processor
from hotlap.machine.versions import versions
from hotlap.providers import provider_named
from hotlap.tensors import nearest

__all__ = ["CPUS", "RELEASES", "Reads", "judged_runtime"]


class Reads(NamedTuple):
    """The newest versions that a release loads: of the file format (IR), of ONNX's operators and of
    ``ai.onnx.ml``'s."""

    ir: int
    opset: int
    ml: int


RELEASES: dict[tuple[int, int], Reads] = {
    (1, 10): Reads(8, 15, 2),
    (1, 11): Reads(8, 16, 3),
    (1, 12): Reads(8, 17, 3),
    (1, 13): Reads(8, 17, 3),
    (1, 14): Reads(8, 18, 3),
    (1, 15): Reads(9, 19, 3),
    (1, 16): Reads(9, 19, 3),
    (1, 17): Reads(9, 20, 4),
    (1, 18): Reads(10, 21, 5),
    (1, 19): Reads(10, 21, 5),
    (1, 20): Reads(10, 21, 5),
    (1, 21): Reads(10, 22, 5),
    (1, 22): Reads(10, 22, 5),
    (1, 23): Reads(11, 23, 5),
    (1, 24): Reads(13, 25, 5),
    (1, 25): Reads(13, 26, 5),
    (1, 26): Reads(13, 26, 5),
    (1, 27): Reads(13, 26, 5),
    (1, 28): Reads(13, 26, 5),
    (1, 29): Reads(13, 26, 5),
    (1, 30): Reads(13, 26, 5),
    (1, 31): Reads(13, 26, 5),
    (1, 32): Reads(14, 28, 5),
}
"""Release to what it loads. Each line was measured: models of one node (Relu; Normalizer for ``ai.onnx.ml``)
with rising version numbers were loaded with that release's CPU wheel until it refused. ORT has no call that
tells."""

_X86 = frozenset({"AVX2", "F16C"})
_AVX512 = _X86 | {"AVX-512F"}
_ARM = frozenset({"NEON"})
_DOTPROD = _ARM | {"FP16", "DOTPROD"}
CPUS: dict[str, frozenset[str]] = {
    "x86-64": frozenset(),
    "avx2": _X86,
    "avx512": _AVX512,
    "vnni": _AVX512 | {"VNNI"},
    "avx-vnni": _X86 | {"VNNI"},
    "amx": _AVX512 | {"VNNI", "AVX512-BF16", "AVX512-FP16", "AMX-BF16", "AMX-INT8"},
    "neon": _ARM,
    "dotprod": _DOTPROD,
    "i8mm": _DOTPROD | {"I8MM", "BF16"},
}
"""Kind of processor to its instruction sets, as `hotlap.machine` names them; each with all that its kind has
had from the start: every processor with AVX-512 VNNI has AVX-512F and AVX2."""

_WHEELS = ("onnxruntime", "onnxruntime-gpu")


def judged_runtime(
    target_ort: str | None = None, target_cpu: str | None = None, providers: Sequence[str] = ("cpu",)
) -> Runtime:
    """What a model is judged for.

    Args:
        target_ort: a release of ONNX Runtime, ``"1.20"``; None: the installed one.
        target_cpu: a key of `CPUS`; None: this machine's processor.
        providers: short names, first choice first.

    Raises:
        UsageError: no such release or kind of processor, or no provider.
        PlanError: no such provider.
    """
    if not providers:
        raise UsageError('no provider is named; "cpu" always loads')
    version = _installed() if target_ort is None else target_ort
    reads = _reads(version) if target_ort is None else _named(target_ort)
    return Runtime(
        ort=version,
        named=target_ort is not None,
        max_ir=reads.ir if reads else None,
        max_opset=reads.opset if reads else None,
        max_ml_opset=reads.ml if reads else None,
        features=_features(target_cpu),
        cpu_named=target_cpu is not None,
        providers=tuple(dict.fromkeys(provider_named(p).name for p in providers)),
    )


def _installed() -> str:
    here = versions()
    return next((here[name] for name in _WHEELS if name in here), "")


def _reads(version: str) -> Reads | None:
    found = re.match(r"(\d+)\.(\d+)", version)
    return RELEASES.get((int(found[1]), int(found[2]))) if found else None


def _named(version: str) -> Reads:
    known = _reads(version) if re.fullmatch(r"\d+\.\d+(\.\d+)*", version) else None
    if known is None:
        first, last = min(RELEASES), max(RELEASES)
        raise UsageError(
            f'target_ort "{version}": what it reads is known of {first[0]}.{first[1]} to {last[0]}.{last[1]}'
        )
    return known


def _features(target: str | None) -> frozenset[str] | None:
    if target is None:
        sets = processor().instruction_sets
        return None if sets is None else frozenset(sets)
    name = target.casefold()
    if name not in CPUS:
        raise UsageError(f'target_cpu "{target}": none of {", ".join(CPUS)}{nearest(name, CPUS)}')
    return CPUS[name]
