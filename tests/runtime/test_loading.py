from __future__ import annotations

import importlib
import importlib.util
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import onnxruntime
import pytest

from hotlap.errors import PlanError
from hotlap.providers import Cpu, Cuda, OpenVino, TensorRt
from hotlap.runtime import loading, ort
from hotlap.runtime.loading import (
    pick_devices,
    provider_status,
    quiet_options,
    reason_not_to_try,
    usable_providers,
)
from tests.runtime.providers import Azure, device

CUDA, OPENVINO = Cuda.ort_name, OpenVino.ort_name
Fail = onnxruntime.capi.onnxruntime_pybind11_state.Fail


@pytest.fixture(autouse=True)
def forgetful(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing known of providers before a test, nor after it."""
    monkeypatch.setattr(loading, "_register_failures", {})
    provider_status.cache_clear()
    yield
    provider_status.cache_clear()


class FakeOrt:
    """The part of onnxruntime that loading speaks to."""

    def __init__(
        self, compiled: list[str], devices: list[Any] | None = None, error: Exception | None = None
    ) -> None:
        self.__version__ = "1.32.0"
        self.__file__ = "/nowhere/onnxruntime/__init__.py"
        self.SessionOptions = onnxruntime.SessionOptions
        self.capi = onnxruntime.capi
        self.registered: list[tuple[str, str]] = []
        self.sessions: list[Any] = []
        self._compiled, self._devices, self._error = compiled, devices or [], error
        self.loaded: list[str] = ["CPUExecutionProvider"]

    def get_available_providers(self) -> list[str]:
        return [*self._compiled, "CPUExecutionProvider"]

    def get_ep_devices(self) -> list[Any]:
        return self._devices if self.registered else []

    def register_execution_provider_library(self, name: str, path: str) -> None:
        self.registered.append((name, path))
        if self._error is not None:
            raise self._error

    def InferenceSession(self, model: bytes, options: Any, providers: list[str], enable_fallback: int) -> Any:
        assert enable_fallback == 0, "ORT must not retry on the CPU by itself"
        self.sessions.append(providers)
        if self._error is not None:
            raise self._error
        return SimpleNamespace(get_providers=lambda: self.loaded)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Any:
    def install(fake: FakeOrt, plugin: Any = None) -> FakeOrt:
        monkeypatch.setattr(ort, "load", lambda: fake)
        if plugin is not None:

            def import_module(name: str) -> Any:
                if isinstance(plugin, Exception):
                    raise plugin
                return plugin

            monkeypatch.setattr(importlib, "import_module", import_module)
        return fake

    return install


PLUGIN = SimpleNamespace(get_library_path=lambda: "/plugin.so")


def test_the_cpu_always_loads() -> None:
    assert provider_status("cpu").loads
    assert reason_not_to_try(Cpu) == ""
    assert usable_providers()[0] == "cpu"


def test_a_misspelt_name_is_a_plan_error() -> None:
    with pytest.raises(PlanError, match='did you mean "cuda"'):
        provider_status("cudaa")


def test_not_compiled_in_names_what_brings_it(install: Any) -> None:
    install(FakeOrt([]))
    status = provider_status("cuda")
    assert (status.compiled, status.loads) == (False, False)
    assert status.reason == "not compiled into this onnxruntime 1.32.0"
    assert status.remedy == "pip uninstall onnxruntime, then pip install 'hotlap[gpu]'"
    assert reason_not_to_try(Cuda) == f"{status.reason}: {status.remedy}"


def test_compiled_in_is_tried_for_real_and_found_to_load(install: Any) -> None:
    fake = install(FakeOrt([CUDA]))
    fake.loaded = [CUDA, "CPUExecutionProvider"]
    assert reason_not_to_try(Cuda) == ""
    assert fake.sessions == [], "asking whether to try costs no session"
    assert provider_status("cuda").loads
    assert fake.sessions == [[CUDA]]


def test_compiled_in_but_dropped_by_ort_says_what_the_loader_missed(install: Any) -> None:
    install(FakeOrt([CUDA]))
    status = provider_status("cuda")
    assert (status.compiled, status.loads) == (True, False)
    assert "onnxruntime_providers_cuda" in status.reason
    assert "doctor" in status.remedy


def test_compiled_in_but_raising_says_what_it_said(install: Any) -> None:
    install(FakeOrt([CUDA], error=RuntimeError("CUDA failure 35: driver version is insufficient")))
    assert "CUDA failure 35" in provider_status("cuda").reason


def test_a_plugin_that_is_not_installed(install: Any) -> None:
    install(FakeOrt([]), ModuleNotFoundError("no", name="onnxruntime_ep_openvino"))
    status = provider_status("openvino")
    assert (status.compiled, status.loads) == (False, False)
    assert status.reason == "its plugin onnxruntime-ep-openvino is not installed"
    assert status.remedy == "pip install 'hotlap[openvino]'"


def test_a_plugin_that_does_not_import(install: Any) -> None:
    install(FakeOrt([]), OSError("bad\nfile"))
    status = provider_status("openvino")
    assert (status.compiled, status.loads) == (True, False)
    assert "does not import: bad file" in status.reason


def test_a_plugin_whose_library_does_not_load(install: Any) -> None:
    error = Fail(
        "[ONNXRuntimeError] : 1 : FAIL : Failed to load library /plugin.so with error: invalid ELF header"
    )
    fake = install(FakeOrt([], error=error), PLUGIN)
    status = provider_status("openvino")
    assert not status.loads
    assert "does not load: Failed to load library /plugin.so with error: invalid ELF header" in status.reason
    provider_status.cache_clear()
    assert provider_status("openvino") == status
    assert len(fake.registered) == 1, "a library is registered once, even one that fails"


def test_a_plugin_that_offers_no_device(install: Any) -> None:
    install(FakeOrt([], [device("OtherExecutionProvider", "CPU")]), PLUGIN)
    status = provider_status("openvino")
    assert (status.compiled, status.loads) == (True, False)
    assert "offers no device on this machine" in status.reason


def test_a_plugin_that_loads_names_its_devices(install: Any) -> None:
    fake = install(FakeOrt([], [device(OPENVINO, "CPU"), device(OPENVINO, "GPU")]), PLUGIN)
    status = provider_status("openvino")
    assert status.loads
    assert status.devices == ("CPU (Test)", "GPU (Test)")
    assert fake.registered == [(OPENVINO, "/plugin.so")]


def test_one_that_somebody_else_registered_is_no_failure(install: Any) -> None:
    error = Fail("EP library is already registered under OpenVINOExecutionProvider")
    install(FakeOrt([], [device(OPENVINO, "CPU")], error), PLUGIN)
    assert provider_status("openvino").loads


def test_threads_that_ask_at_once_register_once(install: Any) -> None:
    fake = install(FakeOrt([], [device(OPENVINO, "CPU")]), PLUGIN)
    asking = [threading.Thread(target=provider_status, args=("openvino",)) for _ in range(8)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert len(fake.registered) == 1


def test_the_first_device_of_the_kind_is_picked() -> None:
    cpu, gpu, second = device(OPENVINO, "CPU"), device(OPENVINO, "GPU"), device(OPENVINO, "GPU")
    assert pick_devices([cpu, gpu, second], "GPU") == [gpu]
    assert pick_devices([cpu], "NPU") == []


def test_a_status_reads_as_one_line(install: Any) -> None:
    install(FakeOrt([]))
    assert provider_status("cpu").label == "cpu: loads"
    assert provider_status("tensorrt").label.startswith(f"{TensorRt.name}: not compiled into")


def test_the_node_that_is_tried_is_a_model_that_runs() -> None:
    # Azure is compiled into the CPU wheel, so the real way is walked: a session of one node with it.
    assert loading._built_in_status(Azure).loads
    session = onnxruntime.InferenceSession(loading._ONE_NODE)
    assert session.run(None, {"x": [2.0]})[0].tolist() == [4.0]


def test_quiet_options_write_nothing() -> None:
    assert quiet_options().log_severity_level == 4


needs_openvino = pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime_ep_openvino") is None, reason="the OpenVINO plugin is not installed"
)


@needs_openvino
def test_the_real_plugin_loads_or_says_why_not() -> None:
    status = provider_status("openvino")
    assert status.compiled
    assert status.loads or "offers no device" in status.reason
    assert bool(status.devices) == status.loads
