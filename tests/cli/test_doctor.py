from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from hotlap.cli import doctor
from hotlap.cpus import cpu_budget
from hotlap.machine import EnvNote, Gpu, Machine, Memory, OnnxRuntime, ProviderReport
from tests.machine import sites, trees


def hotlap_doctor(*words: str, site: Path | None = None) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "COLUMNS": "80"}
    if site is not None:
        variables["PYTHONPATH"] = str(site)
    command = [sys.executable, "-m", "hotlap", "doctor", *words]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)


def test_the_verb_works_on_this_machine() -> None:
    pytest.importorskip("onnxruntime")
    done = hotlap_doctor()
    assert done.returncode == 0, done.stderr
    assert cpu_budget().reason.split(" (")[0] in done.stdout
    assert "cpu" in done.stdout and "loads" in done.stdout
    assert done.stderr == ""


def test_json_is_the_whole_machine() -> None:
    pytest.importorskip("onnxruntime")
    done = hotlap_doctor("--json")
    machine = msgspec.json.decode(done.stdout, type=Machine)
    assert machine.onnxruntime is not None and machine.onnxruntime.imports
    assert machine.cpus.threads == cpu_budget().threads


def test_without_onnxruntime_it_says_so_and_exits_with_3(tmp_path: Path) -> None:
    done = hotlap_doctor(site=sites.hide(tmp_path))
    assert done.returncode == 3
    assert "onnxruntime is not installed: pip install 'hotlap[cpu]'" in " ".join(done.stdout.split())
    assert "Traceback" not in done.stdout + done.stderr


def test_an_onnxruntime_for_another_numpy_is_explained(tmp_path: Path) -> None:
    site = sites.stub(tmp_path, sites.ABI_ERROR)
    done = hotlap_doctor(site=site)
    assert done.returncode == 3
    assert "built for another numpy" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    as_json = hotlap_doctor("--json", site=site)
    assert as_json.returncode == 3
    assert json.loads(as_json.stdout)["onnxruntime"]["imports"] is False


def test_onnxruntime_and_onnxruntime_gpu_at_once_are_a_finding(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    site = sites.wheel_record(tmp_path, "onnxruntime-gpu", "1.31.1")
    done = hotlap_doctor(site=site)
    assert "are both installed, but share one module" in " ".join(done.stdout.split())
    assert done.returncode == 0


# ── how it looks ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What is printed, 80 columns wide, on a big machine with a GPU and trouble."""
    for name in list(os.environ):
        if name.startswith(("ORT_", "OMP_", "CUDA_", "OPENBLAS_", "PYTHONPATH", "LD_")):
            monkeypatch.delenv(name)
    machine = msgspec.structs.replace(
        Machine.brief(trees.docker_v2(tmp_path)),
        gpus=(Gpu(name="NVIDIA H200", memory=143771 << 20, driver="580.65.06", compute="9.0"),),
        onnxruntime=OnnxRuntime(installed=True, imports=True, version="1.31.1", file="/s/onnxruntime/x.py"),
        providers=(
            ProviderReport(name="cpu", ort_name="CPUExecutionProvider", loads=True),
            ProviderReport(
                name="cuda",
                ort_name="CUDAExecutionProvider",
                loads=False,
                reason="misses libcublasLt.so.13, libcublas.so.13",
                wanted=("CUDA 13.0", "cuDNN 9"),
                found=("NVIDIA driver 580.65.06",),
            ),
        ),
        environment=(EnvNote(name="OMP_NUM_THREADS", value="4", matters=False, effect="not read"),),
        findings=("first: [do] this", "second: do that"),
    )
    monkeypatch.setattr(doctor.Machine, "here", lambda: machine)
    monkeypatch.setenv("COLUMNS", "80")
    result = CliRunner().invoke(doctor.command, [])
    assert result.exception is None
    return result.output


def test_it_fits_80_columns(shown: str) -> None:
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    "part",
    [
        "host 64, affinity 64, quota 2.0 -> 2 threads (ORT alone would use 32)",
        "/sys/fs/cgroup/cpu.max",
        "Intel(R) Xeon(R) Platinum 8488C, 32 cores, 64 logical CPUs",
        "AMX-BF16, AMX-INT8",
        "252 GiB, 239 GiB available, limit 2 GiB",
        "NVIDIA H200, 140 GiB, driver 580.65.06, compute 9.0",
        "misses libcublasLt.so.13, libcublas.so.13",
        "wanted: CUDA 13.0, cuDNN 9",
        "found: NVIDIA driver 580.65.06",
        "only seems to OMP_NUM_THREADS=4: not read",
        "1. first: [do] this",
        "2. second: do that",
    ],
)
def test_every_fact_is_there(shown: str, part: str) -> None:
    assert part in " ".join(shown.split())


def test_what_is_unknown_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = msgspec.structs.replace(
        Machine.brief(tmp_path / "empty"),
        memory=Memory(total=None, available=None, limit=None),
        onnxruntime=OnnxRuntime(installed=True, imports=True, version="1.32.0", file="/s/onnxruntime/x.py"),
        environment=(),
    )
    monkeypatch.setattr(doctor.Machine, "here", lambda: machine)
    result = CliRunner().invoke(doctor.command, [])
    text = " ".join(result.output.split())
    assert "processor unknown, unknown number of cores" in text
    assert "features unknown" in text
    assert "memory unknown, unknown available" in text
    assert "none: all is well" in text
