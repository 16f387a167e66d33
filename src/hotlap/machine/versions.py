"""Versions of all that can change a number: Python, libraries, the C library, the kernel, CUDA's wheels."""

from __future__ import annotations

import platform
import re
from importlib import metadata

from hotlap.cpus import ORT_WHEELS

__all__ = ["cuda_wheels", "numbers", "ort_wheels", "versions"]

_LIBRARIES = ("hotlap", "numpy", "onnx", "onnxruntime-ep-openvino", "torch")


def versions() -> dict[str, str]:
    """Name → version of what is installed, read from the packages' records: nothing is imported."""
    found = {"python": platform.python_version()}
    for name in (*_LIBRARIES[:2], *ORT_WHEELS, *_LIBRARIES[2:]):
        version = _installed(name)
        if version:
            found[name] = version
    libc, version = platform.libc_ver()
    if libc:
        found[libc] = version
    return {**found, "kernel": platform.release()}


def ort_wheels() -> dict[str, str]:
    """Installed distributions that hold the module ``onnxruntime`` → "version at folder".

    More than one is a mistake: they share files, or one hides the other.
    """
    found: dict[str, str] = {}
    for wheel in metadata.distributions():
        name = (wheel.metadata["Name"] or "").casefold().replace("_", "-")
        files = wheel.files or []
        if name.startswith(("onnxruntime", "ort-")) and any(
            str(f) == "onnxruntime/__init__.py" for f in files
        ):
            found.setdefault(name, f"{wheel.version} at {wheel.locate_file('')}")
    return found


def cuda_wheels() -> dict[str, str]:
    """NVIDIA's libraries that came by pip → version, e.g. ``{"nvidia-cudnn-cu13": "9.13.0.50"}``."""
    found = {}
    for wheel in metadata.distributions():
        name = (wheel.metadata["Name"] or "").casefold()
        if re.match(r"(nvidia-(cublas|cuda|cudnn|cufft|curand|nvjitlink)|tensorrt)", name):
            found[name] = wheel.version
    return found


def numbers(version: str) -> tuple[int, ...]:
    """``"1.32.0rc1"`` → (1, 32, 0), to be compared; () where it does not begin with a number."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in found.group().split(".")) if found else ()


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
