"""Does an execution provider really load on this machine, and if not, why and what to do.

That a provider is compiled into the wheel says little: its library may need a CUDA that is not here, and ORT
then drops it with no more than a log line. So the answer comes from building a session of one node with it.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hotlap.providers import PROVIDERS, Provider, provider_named
from hotlap.runtime import ort

__all__ = [
    "ProviderStatus",
    "is_plugin",
    "offered_devices",
    "pick_devices",
    "provider_status",
    "quiet_options",
    "reason_not_to_try",
    "usable_providers",
]

_ONE_NODE = bytes.fromhex(
    # y = x + x; x: float[1]; opset 13, IR version 8; as onnx.helper writes it.
    "08083a350a0e0a01780a017812017922034164641201675a0f0a0178120a0a08080112040a02"
    "0801620f0a0179120a0a08080112040a02080142040a00100d"
)
_lock = threading.RLock()
_register_failures: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class ProviderStatus:
    """What became of one provider on this machine.

    Attributes:
        name: hotlap's short name, e.g. ``"cuda"``.
        compiled: it is in the installed onnxruntime, or its plugin is installed.
        loads: a session with it can be built.
        reason: why it does not load; "" where it does.
        remedy: what to do about that; "" where it loads.
        devices: the devices that it offers, where it says so (plugin providers).
    """

    name: str
    compiled: bool
    loads: bool
    reason: str = ""
    remedy: str = ""
    devices: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """One line for people: ``cuda: not compiled into …: pip install 'hotlap[gpu]'``."""
        return f"{self.name}: loads" if self.loads else f"{self.name}: {self.reason}: {self.remedy}"


@cache
def provider_status(name: str) -> ProviderStatus:
    """Whether the provider loads, tried for real; asked once per process and name.

    Raises:
        PlanError: no provider has that name.
        Unavailable: onnxruntime itself is missing or does not import.
    """
    cls = provider_named(name)
    if cls.name == "cpu":
        return ProviderStatus("cpu", compiled=True, loads=True)
    return _plugin_status(cls) if is_plugin(cls) else _built_in_status(cls)


def reason_not_to_try(cls: type[Provider]) -> str:
    """Why building a session with the provider would be in vain, and what to do; "" where it may work.

    Cheap for what is compiled in: the session itself shows whether that loads.
    """
    if cls.name == "cpu" or cls.ort_name in ort.load().get_available_providers():
        return ""
    status = provider_status(cls.name)
    return "" if status.loads else f"{status.reason}: {status.remedy}"


def usable_providers() -> tuple[str, ...]:
    """Short names of the providers that load on this machine; "cpu" is always among them."""
    return tuple(name for name in PROVIDERS if provider_status(name).loads)


def is_plugin(cls: type[Provider]) -> bool:
    """The provider comes as a library of its own, and this onnxruntime has none of that name built in."""
    return cls.plugin is not None and cls.ort_name not in ort.load().get_available_providers()


def _built_in_status(cls: type[Provider]) -> ProviderStatus:
    module = ort.load()
    if cls.ort_name not in module.get_available_providers():
        reason = f"not compiled into this onnxruntime {module.__version__}"
        return ProviderStatus(cls.name, compiled=False, loads=False, reason=reason, remedy=_install(cls))
    try:
        options = quiet_options()
        session = module.InferenceSession(_ONE_NODE, options, providers=[cls.ort_name], enable_fallback=0)
        loaded = cls.ort_name in session.get_providers()
        said = ""
    except ort.raised() as error:
        loaded, said = False, ort.clear_line(str(error))
    if loaded:
        return ProviderStatus(cls.name, compiled=True, loads=True)
    reason = f"compiled in, but its library does not load: {said or _loader_error(cls)}"
    remedy = "install what it misses; `hotlap doctor` says which versions were wanted and found"
    return ProviderStatus(cls.name, compiled=True, loads=False, reason=reason, remedy=remedy)


def _loader_error(cls: type[Provider]) -> str:
    """What the system's loader says about the provider's library: ORT only logs it."""
    folder = Path(ort.load().__file__).parent / "capi"
    stem = cls.ort_name.removesuffix("ExecutionProvider").lower()
    prefix, suffix = {"win32": ("", ".dll"), "darwin": ("lib", ".dylib")}.get(sys.platform, ("lib", ".so"))
    library = folder / f"{prefix}onnxruntime_providers_{stem}{suffix}"
    if not library.exists():
        return f"{library.name} is not in {folder}"
    try:
        ctypes.CDLL(str(folder / f"{prefix}onnxruntime_providers_shared{suffix}"), mode=ctypes.RTLD_GLOBAL)
        ctypes.CDLL(str(library))
    except OSError as error:
        return ort.clear_line(str(error))
    return "ONNX Runtime gave no reason (its log may: run with --debug)"


def _install(cls: type[Provider]) -> str:
    # Both wheels hold the module onnxruntime, and whichever is installed last wins.
    first = "pip uninstall onnxruntime, then " if cls.extra_name == "gpu" else ""
    return first + cls.install


# ── plugin providers ──────────────────────────────────────────────────────────────────────────────────


def _plugin_status(cls: type[Provider]) -> ProviderStatus:
    assert cls.plugin is not None
    try:
        plugin = importlib.import_module(cls.plugin)
    except ModuleNotFoundError:
        reason = f"its plugin {cls.plugin.replace('_', '-')} is not installed"
        return ProviderStatus(cls.name, compiled=False, loads=False, reason=reason, remedy=_install(cls))
    except Exception as error:  # noqa: BLE001  whatever a broken plugin raises is the answer
        reason = f"its plugin is installed but does not import: {ort.clear_line(str(error))}"
        remedy = f"pip install --force-reinstall {cls.plugin.replace('_', '-')}"
        return ProviderStatus(cls.name, compiled=True, loads=False, reason=reason, remedy=remedy)
    failure = _register(cls, plugin)
    if failure:
        remedy = f"pip install --upgrade {cls.plugin.replace('_', '-')} onnxruntime"
        reason = f"its plugin's library does not load: {failure}"
        return ProviderStatus(cls.name, compiled=True, loads=False, reason=reason, remedy=remedy)
    devices = tuple(_device_label(d) for d in offered_devices(cls.ort_name))
    if not devices:
        reason = "its plugin loads but offers no device on this machine (it takes other hardware)"
        remedy = "choose another provider"
        return ProviderStatus(cls.name, compiled=True, loads=False, reason=reason, remedy=remedy)
    return ProviderStatus(cls.name, compiled=True, loads=True, devices=devices)


def _register(cls: type[Provider], plugin: Any) -> str:
    """Registers the plugin's library with ORT, once per process; what went wrong, or ""."""
    with _lock:
        if cls.ort_name in _register_failures:
            return _register_failures[cls.ort_name]
        failure = ""
        # Someone else in this process may have registered it, under whatever name they liked.
        if not offered_devices(cls.ort_name):
            try:
                library = plugin.get_library_path()
                ort.load().register_execution_provider_library(cls.ort_name, library)
            except ort.raised() as error:
                said = ort.clear_line(str(error))
                failure = "" if "already registered" in said else said
        _register_failures[cls.ort_name] = failure
        return failure


def offered_devices(ort_name: str) -> list[Any]:
    """ORT's device objects of the provider ``ort_name``; none before its library is registered."""
    return [d for d in ort.load().get_ep_devices() if d.ep_name == ort_name]


def pick_devices(devices: Sequence[Any], kind: str) -> list[Any]:
    """The one device of the kind ("CPU", "GPU", "NPU") that is listed first; none where none fits.

    A provider is given a single device: with several it would split or balance the model among them, which is
    another thing to ask for.
    """
    return [d for d in devices if d.device.type.name == kind][:1]


def _device_label(device: Any) -> str:
    return f"{device.device.type.name} ({device.ep_vendor})"


def quiet_options() -> Any:
    """ORT's session options that write nothing to stderr.

    ORT writes a warning there for each unused weight, and every error that it raises as well. The exception
    says the same once, so only what ends the process is left to the log.
    """
    options = ort.load().SessionOptions()
    options.log_severity_level = 4
    return options
