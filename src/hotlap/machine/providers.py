"""Which execution providers really load here; for one that does not, what is missing, wanted and found."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import msgspec

from hotlap.errors import PlanError
from hotlap.machine.child import ask
from hotlap.machine.gpus import nvidia_driver
from hotlap.machine.libraries import (
    check_library,
    needed_libraries,
    product_of,
    provider_library,
    similar_libraries,
)
from hotlap.machine.onnxruntime import OnnxRuntime
from hotlap.machine.versions import cuda_wheels
from hotlap.providers import PROVIDERS, provider_named

__all__ = ["ProviderReport", "provider_reports"]

_REMOTE = "AzureExecutionProvider"
"""Compiled into the CPU wheels, but no compute provider: it calls models behind remote endpoints."""
_OF_NVIDIA = ("CUDAExecutionProvider", "TensorrtExecutionProvider", "NvTensorRTRTXExecutionProvider")
_OLDEST_DRIVER = {12: "525", 13: "580"}
"""CUDA major version → first driver series (NVIDIA, CUDA release notes, "minor version compatibility")."""
_CUDNN = "cuDNN 9"
"""Of every CUDA build since 1.18.1 (onnxruntime.ai, CUDA execution provider, requirements). It is opened when
first used, so the provider's own file does not name it."""


class ProviderReport(msgspec.Struct, frozen=True, kw_only=True):
    """One provider that is compiled in, or that came as a plugin.

    Attributes:
        name: hotlap's short name ("cuda"); ORT's where hotlap has none.
        ort_name: e.g. "CUDAExecutionProvider".
        plugin: the module that brought it; None: compiled in.
        loads: a session with it was built in a process of its own; None: not tried.
        reason: why it does not load, or what is odd about it; "" where all is well.
        remedy: what to do about that.
        devices: what it offers, where it says so.
        library: its shared library; None: it is part of onnxruntime itself.
        missing: the libraries that the loader did not find.
        wanted: versions that it was built for, e.g. ("CUDA 13.0", "cuDNN 9").
        found: what of those is on this machine.
    """

    name: str
    ort_name: str
    plugin: str | None = None
    loads: bool | None = None
    reason: str = ""
    remedy: str = ""
    devices: tuple[str, ...] = ()
    library: str | None = None
    missing: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()
    found: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """ "loads", "no device" (a plugin that loads, for other hardware), "does not load" or "not tried"."""
        if self.loads is None:
            return "not tried"
        if self.loads:
            return "loads"
        return "no device" if self.plugin and "no device" in self.reason else "does not load"


def provider_reports(ort: OnnxRuntime, root: Path = Path("/")) -> tuple[ProviderReport, ...]:
    """Tries every compiled-in provider and every installed plugin, each in a process of its own."""
    if not ort.usable:
        return ()
    reports = [_compiled(name, ort, root) for name in ort.compiled if name != _REMOTE]
    reports += [
        _tried(cls.name, cls.ort_name, cls.plugin)
        for cls in PROVIDERS.values()
        if cls.plugin is not None and cls.ort_name not in ort.compiled and _is_installed(cls.plugin)
    ]
    return tuple(sorted(reports, key=lambda r: r.name != "cpu"))


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _tried(name: str, ort_name: str, plugin: str | None = None) -> ProviderReport:
    answer = ask("provider", name)
    status = answer.values
    if answer.failure:
        reason = f"trying it ended the process: {answer.failure}"
        return ProviderReport(name=name, ort_name=ort_name, plugin=plugin, loads=False, reason=reason)
    missed = re.search(r"([^\s/]+\.so[.0-9]*): cannot open shared object file", status["reason"])
    return ProviderReport(
        name=name,
        ort_name=ort_name,
        plugin=plugin,
        loads=status["loads"],
        reason=status["reason"],
        remedy=status["remedy"],
        devices=tuple(status["devices"]),
        missing=(missed.group(1),) if missed else (),
    )


def _compiled(ort_name: str, ort: OnnxRuntime, root: Path) -> ProviderReport:
    try:
        name = provider_named(ort_name).name
    except PlanError:
        short = ort_name.removesuffix("ExecutionProvider").lower()
        return ProviderReport(name=short, ort_name=ort_name, reason="not tried: hotlap does not drive it")
    report = _tried(name, ort_name)
    library = provider_library(ort_name)
    if library is None:
        return report
    wanted = _wanted(library, ort_name, ort.cuda)
    report = msgspec.structs.replace(report, library=str(library), wanted=wanted)
    return report if report.loads else _explained(report, library, ort, root)


def _explained(report: ProviderReport, library: Path, ort: OnnxRuntime, root: Path) -> ProviderReport:
    """The report with what the loader misses, what is here of it, and what to do."""
    check = check_library(library)
    driver = _driver(root) if report.ort_name in _OF_NVIDIA else None
    found = _found(report.ort_name, check.missing, driver, root)
    if not check.error:
        return msgspec.structs.replace(report, found=found)
    reason = f"misses {', '.join(check.missing)}" if check.missing else check.error
    return msgspec.structs.replace(
        report,
        reason=reason,
        remedy=_remedy(report, check.missing, ort, driver) or report.remedy,
        missing=check.missing,
        found=found,
    )


def _wanted(library: Path, ort_name: str, cuda: str) -> tuple[str, ...]:
    products = [p for p in map(product_of, needed_libraries(library)) if p]
    if ort_name in _OF_NVIDIA and cuda:
        driver = _OLDEST_DRIVER.get(int(cuda.partition(".")[0])) if cuda[:1].isdecimal() else None
        series = [f"NVIDIA driver {driver} or newer"] if driver else ["NVIDIA driver"]
        others = [p for p in products if not p.startswith(("CUDA", "NVIDIA driver", "cuDNN"))]
        products = [f"CUDA {cuda}", _CUDNN, *series, *others]
    return tuple(dict.fromkeys(products))


def _driver(root: Path) -> str | None:
    """NVIDIA's driver for people; None where there is none. WSL has the library, but no kernel module."""
    version = nvidia_driver(root)
    if version:
        return f"NVIDIA driver {version}"
    return None if ask("library", "libcuda.so.1").values.get("error", "?") else "NVIDIA driver"


def _found(ort_name: str, missing: tuple[str, ...], driver: str | None, root: Path) -> tuple[str, ...]:
    found = []
    if ort_name in _OF_NVIDIA:
        found.append(driver or "no NVIDIA driver")
        found += [f"{name} {version}" for name, version in cuda_wheels().items()]
        found += [str(path) for path in sorted((root / "usr/local").glob("cuda-*"))]
    found += [str(path) for name in missing for path in similar_libraries(name)[:1]]
    return tuple(dict.fromkeys(found))


def _remedy(report: ProviderReport, missing: tuple[str, ...], ort: OnnxRuntime, driver: str | None) -> str:
    if report.ort_name in _OF_NVIDIA and driver is None:
        return "this machine has no NVIDIA driver: install one, or choose another provider"
    here = {name: next((p for p in similar_libraries(name) if p.name == name), None) for name in missing}
    folders = list(dict.fromkeys(str(path.parent) for path in here.values() if path))
    absent = [name for name, path in here.items() if path is None]
    if folders and not absent:
        return f"the loader does not look where they are: export LD_LIBRARY_PATH={':'.join(folders)}"
    if report.ort_name == "TensorrtExecutionProvider" and any("libnv" in name for name in absent):
        return f"pip install tensorrt-cu{ort.cuda.partition('.')[0]}, then put its folder on LD_LIBRARY_PATH"
    if report.ort_name in _OF_NVIDIA:
        return "pip install 'onnxruntime-gpu[cuda,cudnn]', then put its folders on LD_LIBRARY_PATH"
    return ""
