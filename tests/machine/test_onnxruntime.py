from __future__ import annotations

from pathlib import Path

import pytest

from hotlap.machine.onnxruntime import OnnxRuntime, onnxruntime_here
from tests.machine import sites


def test_the_installed_one_imports() -> None:
    pytest.importorskip("onnxruntime")
    found = onnxruntime_here()
    assert found.imports and found.usable
    assert "CPUExecutionProvider" in found.compiled
    assert (found.error, found.remedy) == ("", "")


def test_none_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(sites.hide(tmp_path)))
    found = onnxruntime_here()
    assert not found.installed and not found.imports
    assert found.error == "onnxruntime is not installed"
    assert "pip install 'hotlap[cpu]'" in found.remedy


@pytest.mark.parametrize(
    ("code", "error", "remedy"),
    [
        (sites.ABI_ERROR, "built for another numpy", "pip install --upgrade onnxruntime"),
        (
            "raise ImportError('numpy.core.multiarray failed to import')",
            "built for another numpy",
            "--upgrade",
        ),
        (
            "raise ValueError('numpy.dtype size changed, may indicate binary incompatibility')",
            "built for another numpy",
            "--upgrade",
        ),
        (
            "import a_module_that_is_not_there",
            "needs the module a_module_that_is_not_there",
            "pip install a_module_that_is_not_there",
        ),
        (
            "from onnxruntime.capi._pybind_state import SessionOptions",
            "only half there (No module named 'onnxruntime.capi')",
            "pip uninstall -y",
        ),
        ("", "only half there", "pip uninstall -y"),
        (
            "raise ImportError('libstdc++.so.6: cannot open shared object file')",
            "does not import: libstdc++.so.6: cannot open shared object file",
            "--force-reinstall",
        ),
        ("raise SystemExit(5)", "does not import: exit code 5", "--force-reinstall"),
    ],
)
def test_why_it_does_not_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, error: str, remedy: str
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(sites.stub(tmp_path, code)))
    found = onnxruntime_here()
    assert found.installed and not found.imports and not found.usable
    assert error in found.error
    assert remedy in found.remedy
    assert "\n" not in found.error + found.remedy


def test_an_onnxruntime_of_before_numpy_2_is_known_by_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "hotlap.machine.onnxruntime.versions", lambda: {"onnxruntime": "1.17.1", "numpy": "2.4.6"}
    )
    monkeypatch.setenv("PYTHONPATH", str(sites.stub(tmp_path, "raise ImportError")))
    found = onnxruntime_here()
    assert found.error == "onnxruntime 1.17.1 does not import: it was built for another numpy than 2.4.6"


@pytest.mark.parametrize(
    ("version", "usable"), [("1.24.3", False), ("1.24.4", True), ("1.32.0", True), ("", False)]
)
def test_too_old_is_not_usable(version: str, usable: bool) -> None:
    assert OnnxRuntime(installed=True, imports=True, version=version).usable is usable
