from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hotlap.machine import providers
from hotlap.machine.child import Answer
from hotlap.machine.libraries import LibraryCheck
from hotlap.machine.onnxruntime import OnnxRuntime, onnxruntime_here
from hotlap.machine.providers import ProviderReport, provider_reports
from tests.machine.test_gpus import nvidia

GPU_WHEEL = OnnxRuntime(
    installed=True,
    imports=True,
    version="1.31.1",
    cuda="13.0",
    compiled=("CUDAExecutionProvider", "AzureExecutionProvider", "CPUExecutionProvider"),
)
NEEDED = ("libcublasLt.so.13", "libcublas.so.13", "libcurand.so.10", "libcuda.so.1", "libc.so.6")


def test_what_really_loads_here() -> None:
    pytest.importorskip("onnxruntime")
    ort = onnxruntime_here()
    reports = {report.name: report for report in provider_reports(ort)}
    assert reports["cpu"].state == "loads"
    assert "azure" not in reports
    assert all(report.loads or report.reason for report in reports.values())


def test_the_openvino_plugin_loads_or_says_why_not() -> None:
    pytest.importorskip("onnxruntime_ep_openvino")
    reports = {report.name: report for report in provider_reports(onnxruntime_here())}
    report = reports["openvino"]
    assert report.plugin == "onnxruntime_ep_openvino"
    assert report.loads == bool(report.devices)
    assert report.state in ("loads", "no device")


def test_nothing_is_tried_without_a_usable_onnxruntime() -> None:
    assert provider_reports(OnnxRuntime(installed=False, imports=False)) == ()
    assert provider_reports(OnnxRuntime(installed=True, imports=True, version="1.20.0")) == ()


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., ProviderReport]:
    """The report on the CUDA provider of a GPU wheel whose library misses what is given."""

    def report(*missing: str, root: Path = tmp_path, driver_library: bool = False) -> ProviderReport:
        def ask(question: str, *arguments: str) -> Answer:
            if question == "library":
                return Answer({"error": "" if driver_library else "not found", "missing": []}, "", "")
            values: dict[str, Any] = {
                "loads": arguments[0] == "cpu",
                "reason": "",
                "remedy": "",
                "devices": [],
            }
            if arguments[0] != "cpu":
                values |= {"reason": "its library does not load", "remedy": "run hotlap doctor"}
            return Answer(values, "", "")

        error = f"{missing[0]}: cannot open shared object file" if missing else ""
        check = LibraryCheck(path="/x/lib.so", error=error, missing=missing)
        monkeypatch.setattr(providers, "ask", ask)
        monkeypatch.setattr(providers, "check_library", lambda path: check)
        monkeypatch.setattr(providers, "needed_libraries", lambda path: NEEDED)
        monkeypatch.setattr(
            providers,
            "provider_library",
            lambda name: Path("/x/lib.so") if name.startswith("CUDA") else None,
        )
        return {r.name: r for r in provider_reports(GPU_WHEEL, root)}["cuda"]

    return report


def test_without_a_driver_that_is_what_to_install(cuda: Callable[..., ProviderReport]) -> None:
    report = cuda("libcublasLt.so.13", "libcuda.so.1")
    assert (report.state, report.reason) == ("does not load", "misses libcublasLt.so.13, libcuda.so.1")
    assert report.wanted == ("CUDA 13.0", "cuDNN 9", "NVIDIA driver 580 or newer")
    assert report.found[0] == "no NVIDIA driver"
    assert "no NVIDIA driver: install one" in report.remedy


def test_with_a_driver_the_missing_cuda_comes_by_pip(
    cuda: Callable[..., ProviderReport], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(providers, "similar_libraries", lambda name: ())
    report = cuda("libcublasLt.so.13", root=nvidia(tmp_path))
    assert report.found[0] == "NVIDIA driver 580.65.06"
    assert "pip install 'onnxruntime-gpu[cuda,cudnn]'" in report.remedy


def test_another_version_that_is_here_is_shown(
    cuda: Callable[..., ProviderReport], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    twelve = Path("/site/nvidia/cublas/lib/libcublasLt.so.12")
    monkeypatch.setattr(providers, "similar_libraries", lambda name: (twelve,))
    report = cuda("libcublasLt.so.13", root=nvidia(tmp_path))
    assert str(twelve) in report.found
    assert report.remedy.startswith("pip install")


def test_a_library_that_is_here_but_not_looked_for_needs_a_path(
    cuda: Callable[..., ProviderReport], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(providers, "similar_libraries", lambda name: (Path("/site/nvidia/cu13/lib") / name,))
    report = cuda("libcublasLt.so.13", "libcublas.so.13", root=nvidia(tmp_path))
    assert report.remedy.endswith("export LD_LIBRARY_PATH=/site/nvidia/cu13/lib")


def test_wsl_has_the_drivers_library_without_the_kernel_module(cuda: Callable[..., ProviderReport]) -> None:
    report = cuda("libcublasLt.so.13", driver_library=True)
    assert report.found[0] == "NVIDIA driver"
    assert "no NVIDIA driver" not in report.remedy


def test_a_library_that_loads_leaves_ort_to_explain(cuda: Callable[..., ProviderReport]) -> None:
    report = cuda()
    assert (report.reason, report.remedy) == ("its library does not load", "run hotlap doctor")


def test_a_crash_while_trying_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(providers, "ask", lambda *words: Answer({}, "killed by signal 11", ""))
    ort = OnnxRuntime(installed=True, imports=True, version="1.32.0", compiled=("CPUExecutionProvider",))
    report = provider_reports(ort)[0]
    assert (report.loads, report.reason) == (False, "trying it ended the process: killed by signal 11")


def test_a_provider_that_hotlap_does_not_drive_is_not_tried() -> None:
    ort = OnnxRuntime(installed=True, imports=True, version="1.32.0", compiled=("MysteryExecutionProvider",))
    report = next(r for r in provider_reports(ort) if r.name == "mystery")
    assert (report.loads, report.state) == (None, "not tried")
    assert report.reason


def test_a_plugin_that_is_not_installed_is_not_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(providers, "_is_installed", lambda module: False)
    ort = OnnxRuntime(installed=True, imports=True, version="1.32.0", compiled=())
    assert provider_reports(ort) == ()
