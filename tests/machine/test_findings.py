from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from hotlap import cpus
from hotlap.cpus import cpu_budget
from hotlap.machine.cpuinfo import Processor
from hotlap.machine.environment import environment
from hotlap.machine.findings import findings_of
from hotlap.machine.gpus import Gpu
from hotlap.machine.onnxruntime import OnnxRuntime
from hotlap.machine.providers import ProviderReport
from tests.machine import trees

CPU = Processor(
    model="X",
    instruction_sets=("AVX2",),
    governor=None,
    driver=None,
    max_mhz=None,
    mixed=False,
    virtual=None,
)
WELL = OnnxRuntime(
    installed=True,
    imports=True,
    version="1.32.0",
    file="/site/onnxruntime/__init__.py",
    compiled=("CPUExecutionProvider",),
    wheels={"onnxruntime": "1.32.0 at /site"},
)


@pytest.fixture(autouse=True)
def _no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(cpus.INTRA_VARIABLE, raising=False)


def findings(tmp_path: Path, **given: Any) -> tuple[str, ...]:
    """The findings on a machine where all is well but for what is given."""
    values: dict[str, Any] = {
        "cpu": CPU,
        "cpus": cpu_budget(trees.smt_64(tmp_path)),
        "gpus": (),
        "ort": WELL,
        "providers": (),
        "environment": (),
    }
    return findings_of(**{**values, **given})


def test_all_is_well(tmp_path: Path) -> None:
    assert findings(tmp_path) == ()


def test_more_threads_than_the_quota_allows(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, cpus=cpu_budget(trees.docker_v2(tmp_path / "docker")))
    assert found.startswith("a session that sets no thread count starts 32 threads where 2 may run:")
    assert "export ORT_INTRA_OP_NUM_THREADS=2 ORT_INTER_OP_NUM_THREADS=1" in found
    assert "pthread_setaffinity_np" not in found


def test_an_ort_that_does_not_read_the_variables_is_not_told_to_set_them(tmp_path: Path) -> None:
    old = msgspec.structs.replace(WELL, version="1.28.0")
    (found,) = findings(tmp_path, ort=old, cpus=cpu_budget(trees.docker_v2(tmp_path / "docker")))
    assert "ORT_INTRA_OP_NUM_THREADS" not in found
    assert "Set intra_op_num_threads" in found


def test_under_an_affinity_the_pinning_error_is_explained(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, cpus=cpu_budget(trees.smt_64(tmp_path / "pinned", allowed="0-3")))
    assert "starts 32 threads where 4 may run" in found
    assert "pthread_setaffinity_np failed" in found


def test_less_than_one_cpu_and_a_fraction(tmp_path: Path) -> None:
    half = findings(tmp_path, cpus=cpu_budget(trees.kubernetes_v1(tmp_path / "half")))
    assert any("quota of 0.5 CPU pauses even a single thread" in f for f in half)
    more = findings(tmp_path, cpus=cpu_budget(trees.systemd_slice(tmp_path / "more")))
    assert any("quota of 1.5 CPUs lets 1 run without pauses" in f and "2 would let" in f for f in more)


def test_two_wheels_of_one_module(tmp_path: Path) -> None:
    wheels = {"onnxruntime": "1.32.0 at /site", "onnxruntime-gpu": "1.31.1 at /site"}
    (found,) = findings(tmp_path, ort=msgspec.structs.replace(WELL, wheels=wheels))
    assert "are both installed, but share one module" in found
    assert "pip uninstall -y onnxruntime onnxruntime-gpu" in found


def test_not_importing_and_too_old(tmp_path: Path) -> None:
    broken = OnnxRuntime(installed=True, imports=False, error="it does not import", remedy="mend it")
    assert findings(tmp_path, ort=broken) == ("it does not import: mend it",)
    (found,) = findings(tmp_path, ort=msgspec.structs.replace(WELL, version="1.23.2"))
    assert "1.23.2 is too old, hotlap needs 1.24.4: pip install --upgrade onnxruntime" in found


def test_a_provider_that_does_not_load_says_what_to_do(tmp_path: Path) -> None:
    reports = (
        ProviderReport(name="cpu", ort_name="CPUExecutionProvider", loads=True),
        ProviderReport(name="x", ort_name="XExecutionProvider", loads=None, reason="not tried"),
        ProviderReport(name="ov", ort_name="O", plugin="p", loads=False, reason="it offers no device here"),
        ProviderReport(name="cuda", ort_name="C", loads=False, reason="misses libx.so", remedy="get it"),
    )
    assert findings(tmp_path, providers=reports) == ("cuda: misses libx.so; get it",)


def test_a_gpu_beside_a_cpu_wheel(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, gpus=(Gpu(name="NVIDIA H200"),))
    assert "no CUDA provider: pip uninstall -y onnxruntime, then pip install 'hotlap[gpu]'" in found
    with_cuda = msgspec.structs.replace(WELL, compiled=("CUDAExecutionProvider", "CPUExecutionProvider"))
    assert findings(tmp_path, gpus=(Gpu(name="NVIDIA H200"),), ort=with_cuda) == ()
    assert findings(tmp_path, gpus=(Gpu(name="AMD MI300"),)) == ()


@pytest.mark.parametrize(
    ("variables", "part"),
    [
        ({"ORT_INTRA_OP_NUM_THREADS": "two"}, "no plain number"),
        ({"ORT_INTRA_OP_NUM_THREADS": "-1"}, "no plain number"),
        ({"ORT_INTER_OP_NUM_THREADS": " 2"}, "no plain number"),
        ({"CUDA_VISIBLE_DEVICES": ""}, "hides every NVIDIA GPU"),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, "hides every NVIDIA GPU"),
        ({"OPENBLAS_CORETYPE": "Haswell"}, "unset it"),
    ],
)
def test_variables_that_do_harm(tmp_path: Path, variables: dict[str, str], part: str) -> None:
    (found,) = findings(tmp_path, environment=environment(variables))
    assert part in found


def test_variables_that_do_none(tmp_path: Path) -> None:
    fine = {"ORT_INTRA_OP_NUM_THREADS": "2", "CUDA_VISIBLE_DEVICES": "0", "OMP_NUM_THREADS": "4"}
    assert findings(tmp_path, environment=environment(fine)) == ()


@pytest.mark.parametrize(("driver", "count"), [("acpi-cpufreq", 1), ("intel_pstate", 0)])
def test_powersave_holds_the_clock_down_only_with_some_drivers(
    tmp_path: Path, driver: str, count: int
) -> None:
    cpu = msgspec.structs.replace(CPU, governor="powersave", driver=driver)
    assert len(findings(tmp_path, cpu=cpu)) == count


def test_mixed_cores(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, cpu=msgspec.structs.replace(CPU, mixed=True))
    assert "operators wait for the slowest" in found
