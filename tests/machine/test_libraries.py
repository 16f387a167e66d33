from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hotlap.machine.libraries import (
    check_library,
    needed_libraries,
    product_of,
    provider_library,
    similar_libraries,
)


@pytest.fixture
def gcc() -> str:
    found = shutil.which("gcc")
    if sys.platform != "linux" or found is None:
        reason = "needs Linux and gcc, to build a library whose needed library is missing"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found


def build(gcc: str, folder: Path, name: str, *needs: str) -> Path:
    """A shared library that needs the others by name, as ``DT_NEEDED`` says it."""
    path = folder / name
    command = [gcc, "-shared", "-nostdlib", "-x", "c", "-", "-o", str(path), f"-Wl,-soname,{name}"]
    command += ["-Wl,--no-as-needed", f"-L{folder}", *(f"-l:{need}" for need in needs)]
    subprocess.run(command, input=b"int nothing;", check=True)
    return path


@pytest.fixture
def provider(gcc: str, tmp_path: Path) -> Path:
    """A provider that needs two libraries of CUDA 13 which were there when it was built, and are gone."""
    for name in ("libcublasLt.so.13", "libcudart.so.99"):
        build(gcc, tmp_path, name)
    path = build(gcc, tmp_path, "libprovider.so", "libcublasLt.so.13", "libcudart.so.99")
    (tmp_path / "libcublasLt.so.13").unlink()
    (tmp_path / "libcudart.so.99").unlink()
    return path


def test_the_needed_libraries_are_read_from_the_file(provider: Path) -> None:
    assert needed_libraries(provider) == ("libcublasLt.so.13", "libcudart.so.99")


def test_every_missing_library_is_named_not_only_the_first(provider: Path) -> None:
    check = check_library(provider)
    assert check.missing == ("libcublasLt.so.13", "libcudart.so.99")
    assert check.error.startswith("libcublasLt.so.13: cannot open shared object file")


def test_a_library_that_loads_has_no_error(gcc: str, tmp_path: Path) -> None:
    check = check_library(build(gcc, tmp_path, "libfine.so"))
    assert (check.error, check.missing) == ("", ())


def test_a_library_that_crashes_on_loading_crashes_another_process(gcc: str, tmp_path: Path) -> None:
    path = tmp_path / "libcrash.so"
    code = b"__attribute__((constructor)) static void crash(void) { *(volatile int *)0 = 0; }"
    subprocess.run([gcc, "-shared", "-nostdlib", "-x", "c", "-", "-o", str(path)], input=code, check=True)
    assert check_library(path).error == "loading it ended the process: killed by signal 11"


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"MZ\x90\x00" * 40, b"\x7fELF\x02\x01" + b"\xff" * 200])
def test_what_is_no_elf_file_needs_nothing(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file.so"
    path.write_bytes(content)
    assert needed_libraries(path) == ()
    assert needed_libraries(tmp_path / "missing.so") == ()


@pytest.mark.skipif(sys.platform != "linux", reason="ELF")
def test_the_running_onnxruntime_needs_the_c_library() -> None:
    ort = pytest.importorskip("onnxruntime")
    (library,) = Path(ort.__file__).parent.glob("capi/onnxruntime_pybind11_state*.so")
    assert "libc.so.6" in needed_libraries(library)


@pytest.mark.parametrize(
    ("library", "product"),
    [
        ("libcublasLt.so.12", "CUDA 12"),
        ("libcudart.so.13", "CUDA 13"),
        ("libcufft.so.11", "CUDA 12"),
        ("libcufft.so.12", "CUDA 13"),
        ("libcurand.so.10", "CUDA"),
        ("libcuda.so.1", "NVIDIA driver"),
        ("libcudnn.so.9", "cuDNN 9"),
        ("libcudnn_graph.so.9", "cuDNN 9"),
        ("libnvinfer.so.10", "TensorRT 10"),
        ("libnvonnxparser.so.10", "TensorRT 10"),
        ("libamdhip64.so.6", "ROCm"),
        ("libc.so.6", None),
    ],
)
def test_whose_library_it_is(library: str, product: str | None) -> None:
    assert product_of(library) == product


def test_other_versions_of_a_library_are_found_in_pips_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "nvidia" / "cublas" / "lib"
    folder.mkdir(parents=True)
    for name in ("libcublasLt.so.12", "libcublasLtX.so.13", "libcublas.so.12"):
        (folder / name).touch()
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    assert folder / "libcublasLt.so.12" in similar_libraries("libcublasLt.so.13")
    assert not any(
        "X" in path.name or "cublas.so" in path.name for path in similar_libraries("libcublasLt.so.13")
    )


def test_a_provider_without_a_file_of_its_own_has_none() -> None:
    assert provider_library("CPUExecutionProvider") is None
