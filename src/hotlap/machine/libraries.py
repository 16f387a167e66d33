"""Why a provider's shared library does not load: what it needs, what is missing, what is here instead.

The system's loader names only the first library that it misses. So the list of needed ones is read from the
file itself (ELF, ``DT_NEEDED``), and a child process tries each.
"""

from __future__ import annotations

import mmap
import os
import re
import struct
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import msgspec

from hotlap.machine.child import ask

__all__ = [
    "LibraryCheck",
    "check_library",
    "needed_libraries",
    "product_of",
    "provider_library",
    "similar_libraries",
]

_DT_NULL, _DT_NEEDED, _DT_STRTAB, _PT_LOAD, _PT_DYNAMIC = 0, 1, 5, 1, 2  # System V ABI, chapters 4 and 5


class LibraryCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What the loader says about one shared library.

    Attributes:
        path: the library.
        error: the loader's own words; "" where it loads.
        missing: the needed libraries that the loader does not find, the first one first.
    """

    path: str
    error: str
    missing: tuple[str, ...] = ()


def provider_library(ort_name: str) -> Path | None:
    """The file of a provider beside onnxruntime, e.g. ``libonnxruntime_providers_cuda.so``; None: none.

    Args:
        ort_name: e.g. ``"CUDAExecutionProvider"``.
    """
    try:
        spec = find_spec("onnxruntime")
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    stem = ort_name.removesuffix("ExecutionProvider").lower()
    prefix, suffix = {"win32": ("", ".dll"), "darwin": ("lib", ".dylib")}.get(sys.platform, ("lib", ".so"))
    path = Path(spec.origin).parent / "capi" / f"{prefix}onnxruntime_providers_{stem}{suffix}"
    return path if path.is_file() else None


def check_library(path: Path) -> LibraryCheck:
    """Loads the library in a child process and says what is missing where it does not load."""
    beside = {p.name for p in path.parent.iterdir()}
    needed = [name for name in needed_libraries(path) if name not in beside]
    answer = ask("library", str(path), *needed)
    if answer.failure:
        return LibraryCheck(path=str(path), error=f"loading it ended the process: {answer.failure}")
    error = str(answer.values["error"])
    first = re.match(r"(\S+\.so[.0-9]*): cannot open shared object file", error)
    missing = [first.group(1)] if first else []
    missing += [name for name in answer.values["missing"] if name not in missing]
    return LibraryCheck(path=str(path), error=error, missing=tuple(missing))


# ── what a library needs (ELF) ────────────────────────────────────────────────────────────────────────


def needed_libraries(path: Path) -> tuple[str, ...]:
    """The file's ``DT_NEEDED`` names, in order; () where it is no little-endian 64-bit ELF file."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return tuple(_needed(data)) if data[:6] == b"\x7fELF\x02\x01" else ()
    except (OSError, ValueError, OverflowError, struct.error):  # a broken file points anywhere
        return ()


def _needed(data: mmap.mmap) -> Iterator[str]:
    (table,) = struct.unpack_from("<Q", data, 32)  # e_phoff
    size, count = struct.unpack_from("<HH", data, 54)  # e_phentsize, e_phnum
    headers = [struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(count)]
    entries: list[tuple[int, int]] = []
    for kind, _, offset, _, _, length in headers:
        if kind == _PT_DYNAMIC:
            for at in range(offset, offset + length, 16):
                entries.append(struct.unpack_from("<QQ", data, at))
                if entries[-1][0] == _DT_NULL:
                    break
    strings = next((value for tag, value in entries if tag == _DT_STRTAB), None)
    for kind, _, offset, address, _, length in headers:
        if strings is not None and kind == _PT_LOAD and address <= strings < address + length:
            base = offset + strings - address
            for start in (base + value for tag, value in entries if tag == _DT_NEEDED):
                yield data[start : data.find(b"\0", start)].decode(errors="replace")
            return


# ── whose library it is ───────────────────────────────────────────────────────────────────────────────

_PRODUCTS: tuple[tuple[str, str, dict[str, str]], ...] = (
    (r"libcuda\.so", "NVIDIA driver", {}),
    (r"lib(cudart|cublas|cublasLt|nvrtc|nvJitLink|cupti)\.so\.(?P<v>\d+)", "CUDA", {}),
    # NVIDIA numbers these apart from CUDA: cuFFT 11 is CUDA 12's, 12 is CUDA 13's; cuRAND 10 is of both.
    (r"libcufft\.so\.(?P<v>\d+)", "CUDA", {"10": "11", "11": "12", "12": "13"}),
    (r"libcurand\.so", "CUDA", {}),
    (r"libcudnn\w*\.so\.(?P<v>\d+)", "cuDNN", {}),
    (r"libnv(infer\w*|onnxparser)\.so\.(?P<v>\d+)", "TensorRT", {}),
    (r"lib(amdhip64|rocblas|hipblas|hipfft|rocfft|MIOpen|migraphx\w*)\.so", "ROCm", {}),
    (r"libopenvino\w*\.so", "OpenVINO", {}),
    (r"libze_loader\.so", "Level Zero (Intel GPU driver)", {}),
    (r"libdnnl\.so\.(?P<v>\d+)", "oneDNN", {}),
)


def product_of(library: str) -> str | None:
    """``"libcublasLt.so.13"`` → ``"CUDA 13"``; None where we do not know whose it is."""
    for pattern, product, numbered in _PRODUCTS:
        found = re.match(pattern, library)
        if found:
            version = found.groupdict().get("v")
            version = numbered.get(version, "") if version and numbered else version
            return f"{product} {version}".strip() if version else product
    return None


def similar_libraries(library: str) -> tuple[Path, ...]:
    """Files of the same library, of any version, in the places where such libraries are put.

    Looks into pip's ``nvidia`` and ``tensorrt_libs`` folders, ``LD_LIBRARY_PATH``, CUDA's folders and the
    system's; no deeper.
    """
    stem = library.partition(".so")[0]
    found: dict[Path, None] = {}
    for folder in _library_folders():
        try:
            names = sorted(
                p for p in folder.iterdir() if re.fullmatch(rf"{re.escape(stem)}\.so[.0-9]*", p.name)
            )
        except OSError:
            continue
        found.update(dict.fromkeys(names))
    return tuple(found)


def _library_folders() -> Iterator[Path]:
    for entry in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep):
        if entry:
            yield Path(entry)
    for site in map(Path, sys.path):
        yield from sorted((site / "nvidia").glob("*/lib"))
        yield site / "tensorrt_libs"
    if sys.platform == "linux":
        yield from sorted(Path("/usr/local").glob("cuda*/lib*"))
        yield from (Path("/usr/lib/x86_64-linux-gnu"), Path("/usr/lib/aarch64-linux-gnu"), Path("/usr/lib64"))
        yield from (Path("/opt/rocm/lib"), Path("/opt/intel/openvino/runtime/lib/intel64"))
