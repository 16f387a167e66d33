from __future__ import annotations

import platform
from pathlib import Path

import pytest

import hotlap
from hotlap.machine.versions import cuda_wheels, numbers, ort_wheels, versions
from tests.machine import sites


def test_what_is_installed_is_listed_by_its_record() -> None:
    found = versions()
    assert found["python"] == platform.python_version()
    assert found["hotlap"] == hotlap.__version__
    assert "numpy" in found
    assert found["kernel"] == platform.release()


def test_only_wheels_that_hold_the_module_onnxruntime_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sites.wheel_record(tmp_path, "onnxruntime-gpu", "1.31.1")
    sites.wheel_record(tmp_path, "onnxruntime", "1.32.0")
    sites.wheel_record(tmp_path, "onnxruntime-extensions", "0.15.2", "onnxruntime_extensions/__init__.py")
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    assert ort_wheels() == {
        "onnxruntime": f"1.32.0 at {tmp_path}",
        "onnxruntime-gpu": f"1.31.1 at {tmp_path}",
    }


def test_cuda_from_pip_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sites.wheel_record(tmp_path, "nvidia-cudnn-cu13", "9.13.0", "nvidia/cudnn/__init__.py")
    sites.wheel_record(tmp_path, "nvidia-ml-py", "13.0", "pynvml.py")
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    assert cuda_wheels() == {"nvidia-cudnn-cu13": "9.13.0"}


@pytest.mark.parametrize(("text", "expected"), [("1.32.0rc1", (1, 32, 0)), ("1.9", (1, 9)), ("dev", ())])
def test_versions_compare_as_numbers(text: str, expected: tuple[int, ...]) -> None:
    assert numbers(text) == expected
