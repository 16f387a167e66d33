"""The GPUs and their drivers, by the files that the drivers publish and by ``nvidia-smi``."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import msgspec

from hotlap.cpus import read_text

__all__ = ["Gpu", "gpus", "gpus_by_files", "nvidia_driver"]

_SMI_FIELDS = "name,memory.total,driver_version,compute_cap"
_SMI_SECONDS = 20.0  # a driver that wakes up takes seconds; one that hangs must not hang us


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU.

    Attributes:
        name: e.g. "NVIDIA H200".
        memory: bytes on it; None where unknown.
        driver: the driver's version; None where unknown.
        compute: CUDA compute capability ("9.0") or ROCm target ("gfx942"); None where unknown.
    """

    name: str
    memory: int | None = None
    driver: str | None = None
    compute: str | None = None


def gpus(root: Path = Path("/")) -> tuple[Gpu, ...]:
    """Every GPU that can be found; asks ``nvidia-smi`` in a child process where it is installed."""
    return (_nvidia_by_smi() or _nvidia_by_files(root)) + _amd(root)


def gpus_by_files(root: Path = Path("/")) -> tuple[Gpu, ...]:
    """The same without a child process: less is known of NVIDIA's."""
    return _nvidia_by_files(root) + _amd(root)


def nvidia_driver(root: Path = Path("/")) -> str | None:
    """The version of NVIDIA's kernel driver, e.g. "580.65.06"; None where it is not loaded."""
    text = read_text(root / "proc/driver/nvidia/version") or ""
    found = re.search(r"Kernel Module(?: for \S+)?\s+(\d+(?:\.\d+)+)", text)
    return found.group(1) if found else None


def _nvidia_by_smi() -> tuple[Gpu, ...]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    command = [program, f"--query-gpu={_SMI_FIELDS}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SMI_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return _parse_smi(done.stdout) if done.returncode == 0 else ()


def _parse_smi(text: str) -> tuple[Gpu, ...]:
    found = []
    for line in text.splitlines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) == 4:
            name, mib, driver, compute = (
                None if f in ("", "[N/A]", "[Not Supported]") else f for f in fields
            )
            size = int(mib) << 20 if mib and mib.isdecimal() else None
            found.append(Gpu(name=name or "NVIDIA GPU", memory=size, driver=driver, compute=compute))
    return tuple(found)


def _nvidia_by_files(root: Path) -> tuple[Gpu, ...]:
    driver = nvidia_driver(root)
    found = []
    for path in sorted((root / "proc/driver/nvidia/gpus").glob("*/information")):
        name = re.search(r"^Model:\s*(\S.*?)\s*$", read_text(path) or "", re.MULTILINE)
        found.append(Gpu(name=name.group(1) if name else "NVIDIA GPU", driver=driver))
    return tuple(found)


def _amd(root: Path) -> tuple[Gpu, ...]:
    """AMD's compute nodes (kernel: drivers/gpu/drm/amd/amdkfd, topology); CPUs are nodes there too."""
    driver = (read_text(root / "sys/module/amdgpu/version") or "").strip() or None
    found = []
    for path in sorted((root / "sys/class/kfd/kfd/topology/nodes").glob("*/properties")):
        target = re.search(r"^gfx_target_version (\d+)$", read_text(path) or "", re.MULTILINE)
        if target and int(target.group(1)):
            name = (read_text(path.parent / "name") or "").strip()
            found.append(Gpu(name=f"AMD {name}".strip(), driver=driver, compute=_gfx(int(target.group(1)))))
    return tuple(found)


def _gfx(version: int) -> str:
    """90402 → "gfx942": major, minor and stepping as two decimal digits each, the last two in hex."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"
