"""The processor: its name, the instruction sets that kernels choose by, its clock, and what is around it."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import sys
from pathlib import Path

import msgspec

from hotlap.cpus import read_int, read_text

__all__ = ["INSTRUCTION_SETS", "Processor", "processor"]

INSTRUCTION_SETS: dict[str, tuple[str, ...]] = {
    "AVX2": ("avx2",),
    "F16C": ("f16c",),
    "AVX-512F": ("avx512f",),
    "VNNI": ("avx512_vnni", "avx_vnni"),
    "AVX512-BF16": ("avx512_bf16",),
    "AVX512-FP16": ("avx512_fp16",),
    "AMX-BF16": ("amx_bf16",),
    "AMX-INT8": ("amx_int8",),
    "NEON": ("asimd", "neon"),
    "FP16": ("asimdhp",),
    "DOTPROD": ("asimddp",),
    "I8MM": ("i8mm",),
    "BF16": ("bf16",),
    "SVE": ("sve",),
    "SVE2": ("sve2",),
    "SME": ("sme",),
}
"""Name → the kernel's flags for it, any of which is enough (``/proc/cpuinfo``: flags; Features on ARM)."""

_ARM_CORES = {
    0xD03: "Cortex-A53",
    0xD05: "Cortex-A55",
    0xD07: "Cortex-A57",
    0xD08: "Cortex-A72",
    0xD0B: "Cortex-A76",
    0xD0C: "Neoverse-N1",
    0xD40: "Neoverse-V1",
    0xD41: "Cortex-A78",
    0xD44: "Cortex-X1",
    0xD46: "Cortex-A510",
    0xD47: "Cortex-A710",
    0xD48: "Cortex-X2",
    0xD49: "Neoverse-N2",
    0xD4F: "Neoverse-V2",
}
"""Part numbers of cores by Arm itself (kernel: arch/arm64/include/asm/cputype.h)."""
_ARM = 0x41


class Processor(msgspec.Struct, frozen=True, kw_only=True):
    """One machine's processor as this process sees it.

    Attributes:
        model: its name; "unknown" where nothing says it.
        instruction_sets: names out of `INSTRUCTION_SETS`, in that order; None where the system does not tell.
        governor: how the clock is chosen, e.g. "performance"; None where unknown (usual in virtual machines).
        driver: what drives the clock, e.g. "intel_pstate".
        max_mhz: the highest clock in MHz.
        mixed: the cores are of several kinds (big and little).
        virtual: what it runs inside of, e.g. "virtual machine (QEMU), container"; None: bare metal, it seems.
    """

    model: str
    instruction_sets: tuple[str, ...] | None
    governor: str | None
    driver: str | None
    max_mhz: float | None
    mixed: bool
    virtual: str | None


def processor(root: Path = Path("/")) -> Processor:
    """Reads ``/proc/cpuinfo`` and ``/sys`` under the root; asks the system itself elsewhere than on Linux."""
    text = read_text(root / "proc/cpuinfo") or ""
    flags = _flags(text)
    frequency = root / "sys/devices/system/cpu/cpu0/cpufreq"
    khz = read_int(frequency / "cpuinfo_max_freq")
    kinds = _arm_kinds(text)
    return Processor(
        model=_model(text, kinds) or _model_without_proc(root) or "unknown",
        instruction_sets=_instruction_sets(flags) if flags else None,
        governor=_line(frequency / "scaling_governor"),
        driver=_line(frequency / "scaling_driver"),
        max_mhz=khz / 1000 if khz else None,
        mixed=len(kinds) > 1,
        virtual=_virtual(root, flags),
    )


def _flags(cpuinfo: str) -> frozenset[str]:
    """The flags of the first processor; those of the others are the same wherever one kernel runs on all."""
    found = re.search(r"^(?:flags|Features)\s*:\s*(.*)$", cpuinfo, re.MULTILINE)
    return frozenset(found.group(1).split()) if found else frozenset()


def _instruction_sets(flags: frozenset[str]) -> tuple[str, ...]:
    return tuple(name for name, words in INSTRUCTION_SETS.items() if not flags.isdisjoint(words))


def _model(cpuinfo: str, kinds: dict[str, int]) -> str | None:
    found = re.search(r"^model name\s*:\s*(\S.*?)\s*$", cpuinfo, re.MULTILINE)
    if found:
        return found.group(1)
    return " + ".join(f"{count} {name}" for name, count in kinds.items()) or None


def _arm_kinds(cpuinfo: str) -> dict[str, int]:
    """Kind of core → how many: ARM kernels give numbers where x86 gives a name."""
    kinds: dict[str, int] = {}
    makers = re.findall(r"^CPU implementer\s*:\s*0x([0-9a-f]+)", cpuinfo, re.MULTILINE)
    parts = re.findall(r"^CPU part\s*:\s*0x([0-9a-f]+)", cpuinfo, re.MULTILINE)
    for maker, part in zip(makers, parts, strict=False):
        name = _ARM_CORES.get(int(part, 16)) if int(maker, 16) == _ARM else None
        name = name or f"ARM core (maker 0x{maker}, part 0x{part})"
        kinds[name] = kinds.get(name, 0) + 1
    return kinds


def _model_without_proc(root: Path) -> str | None:
    if root != Path("/"):
        return None
    return _sysctl_text(b"machdep.cpu.brand_string") or platform.processor() or None


def _sysctl_text(name: bytes) -> str | None:
    """macOS: one text of ``sysctl``; None elsewhere."""
    if sys.platform != "darwin":
        return None
    try:
        libc = ctypes.CDLL(None)
        text, size = ctypes.create_string_buffer(256), ctypes.c_size_t(256)
        failed = libc.sysctlbyname(name, text, ctypes.byref(size), None, 0)
        return None if failed else text.value.decode(errors="replace") or None
    except (OSError, AttributeError):
        return None


def _virtual(root: Path, flags: frozenset[str]) -> str | None:
    layers = []
    if "microsoft" in (read_text(root / "proc/sys/kernel/osrelease") or "").casefold():
        layers.append("WSL")
    elif "hypervisor" in flags or (root / "sys/hypervisor/type").exists():
        dmi = root / "sys/class/dmi/id"
        maker = _line(dmi / "sys_vendor") or _line(root / "sys/hypervisor/type")
        layers.append(f"virtual machine ({maker})" if maker else "virtual machine")
    if _in_container(root):
        layers.append("container")
    return ", ".join(layers) or None


def _in_container(root: Path) -> bool:
    if (root / ".dockerenv").exists() or (root / "run/.containerenv").exists():
        return True
    groups = read_text(root / "proc/self/cgroup") or ""
    if re.search(r"/(?:docker|kubepods|lxc|containerd|libpod)", groups):
        return True
    return root == Path("/") and "KUBERNETES_SERVICE_HOST" in os.environ


def _line(path: Path) -> str | None:
    return (read_text(path) or "").strip() or None
