from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from hotlap.machine.gpus import Gpu, gpus, gpus_by_files, nvidia_driver
from tests.machine import trees

NVRM = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (root@host)\n"
    "GCC version: gcc version 12.2.0\n"
)
INFORMATION = "Model: \t\t NVIDIA H200\nIRQ:   \t\t 51\nGPU UUID: \t GPU-1\n"


def nvidia(root: Path) -> Path:
    return trees.write(
        root,
        {
            "proc/driver/nvidia/version": NVRM,
            "proc/driver/nvidia/gpus/0000:01:00.0/information": INFORMATION,
        },
    )


def test_nvidia_by_its_drivers_files(tmp_path: Path) -> None:
    assert gpus_by_files(nvidia(tmp_path)) == (Gpu(name="NVIDIA H200", driver="580.65.06"),)


def test_the_closed_module_writes_its_version_a_little_differently(tmp_path: Path) -> None:
    text = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12\n"
    trees.write(tmp_path, {"proc/driver/nvidia/version": text})
    assert nvidia_driver(tmp_path) == "535.183.01"


def test_amd_by_the_kernels_topology_without_its_cpus(tmp_path: Path) -> None:
    nodes = "sys/class/kfd/kfd/topology/nodes"
    trees.write(
        tmp_path,
        {
            f"{nodes}/0/properties": "cpu_cores_count 96\ngfx_target_version 0\n",
            f"{nodes}/1/properties": "simd_count 1216\ngfx_target_version 90402\n",
            f"{nodes}/1/name": "aqua_vanjaram\n",
            "sys/module/amdgpu/version": "6.8.5\n",
        },
    )
    assert gpus_by_files(tmp_path) == (Gpu(name="AMD aqua_vanjaram", driver="6.8.5", compute="gfx942"),)


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for nvidia-smi is a shell script")
@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (
            "echo 'NVIDIA H200, 143771, 580.65.06, 9.0'",
            (Gpu(name="NVIDIA H200", memory=143771 << 20, driver="580.65.06", compute="9.0"),),
        ),
        (
            "echo 'NVIDIA GB10, [N/A], 580.65.06, 12.1'",
            (Gpu(name="NVIDIA GB10", driver="580.65.06", compute="12.1"),),
        ),
        ("echo 'NVIDIA-SMI has failed'; exit 9", ()),
        ("echo nonsense", ()),
    ],
)
def test_nvidia_smi_is_asked_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, expected: tuple[Gpu, ...]
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert gpus(tmp_path) == expected


def test_nothing_readable_is_no_gpu(tmp_path: Path) -> None:
    assert gpus_by_files(tmp_path / "empty") == ()
    assert gpus_by_files(trees.malformed(tmp_path / "malformed")) == ()
    assert nvidia_driver(tmp_path) is None
