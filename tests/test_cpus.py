from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hotlap import cpus
from hotlap.cpus import cpu_budget, usable_threads
from tests.machine import trees

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc/self/task")


@pytest.fixture(autouse=True)
def _no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(cpus.INTRA_VARIABLE, raising=False)


# ── recorded machines ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("record", "quota", "source", "threads", "ort_default"),
    [
        (trees.docker_v2, 2.0, "/sys/fs/cgroup/cpu.max", 2, 32),
        (trees.kubernetes_v1, 0.5, "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", 1, 16),
        (
            trees.kubernetes_v1_from_the_node,
            2.5,
            "/sys/fs/cgroup/cpu,cpuacct/kubepods/burstable/pod8f3c/cpu.cfs_quota_us",
            2,
            16,
        ),
        (trees.systemd_slice, 1.5, "/sys/fs/cgroup/system.slice/models.slice/cpu.max", 1, 8),
        (trees.no_quota, None, None, 8, 8),
        (trees.hybrid, 3.0, "/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us", 3, 8),
        (trees.outside_the_mount, 2.0, "/sys/fs/cgroup/cpu.max", 2, 8),
        (trees.host_path_in_a_namespace, 6.0, "/sys/fs/cgroup/cpu.max", 6, 8),
        (trees.blank_in_the_mount_point, 1.0, "/my groups/cpu.max", 1, 4),
        (trees.smt_64, None, None, 32, 32),
        (trees.big_little, None, None, 8, 8),
    ],
)
def test_quota_and_threads_of_recorded_machines(
    record: Callable[[Path], Path],
    quota: float | None,
    source: str | None,
    threads: int,
    ort_default: int,
    tmp_path: Path,
) -> None:
    budget = cpu_budget(record(tmp_path))
    assert (budget.quota, budget.quota_source) == (quota, source)
    assert (budget.threads, budget.ort_default) == (threads, ort_default)


def test_the_reason_tells_it_in_one_line(tmp_path: Path) -> None:
    assert cpu_budget(trees.docker_v2(tmp_path)).reason == (
        "host 64, affinity 64, quota 2.0 -> 2 threads (ORT alone would use 32)"
    )


def test_two_threads_of_one_core_count_once(tmp_path: Path) -> None:
    budget = cpu_budget(trees.smt_64(tmp_path, allowed="0,1,32,33"))
    assert (budget.logical, budget.physical) == (64, 32)
    assert (budget.affinity, budget.affinity_physical, budget.threads) == (4, 2, 2)


def test_cores_are_told_apart_by_package_where_siblings_are_not_listed(tmp_path: Path) -> None:
    assert cpu_budget(trees.big_little(tmp_path)).physical == 8


def test_what_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    for root in (trees.malformed(tmp_path / "malformed"), tmp_path / "empty"):
        budget = cpu_budget(root)
        assert (budget.physical, budget.affinity, budget.affinity_physical) == (None, None, None)
        assert (budget.quota, budget.quota_source) == (None, None)
        assert budget.threads >= 1
        assert "affinity unknown, quota none" in budget.reason


@pytest.fixture(scope="module")
def docker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trees.docker_v2(tmp_path_factory.mktemp("docker"))


@pytest.mark.parametrize("name", ["proc/self/cgroup", "proc/self/mountinfo", "sys/fs/cgroup/cpu.max"])
@given(text=st.text(st.characters(codec="utf-8"), max_size=40))
@settings(deadline=None)
def test_no_text_in_a_file_is_an_error(name: str, text: str, docker: Path) -> None:
    right = (docker / name).read_bytes()
    try:
        (docker / name).write_text(text, encoding="utf-8")
        assert 1 <= cpu_budget(docker).threads <= 32
    finally:
        (docker / name).write_bytes(right)


@given(limit=st.integers(1, 10**8), period=st.integers(1, 10**6))
@settings(deadline=None)
def test_threads_never_exceed_the_quota(limit: int, period: int, docker: Path) -> None:
    (docker / "sys/fs/cgroup/cpu.max").write_text(f"{limit} {period}\n")
    budget = cpu_budget(docker)
    assert budget.quota == limit / period
    assert budget.threads == max(1, min(32, limit // period))


def test_a_quota_without_a_period_has_the_kernels_period(tmp_path: Path) -> None:
    root = trees.docker_v2(tmp_path)
    (root / "sys/fs/cgroup/cpu.max").write_text("300000\n")
    assert cpu_budget(root).quota == 3.0


# ── this machine ──────────────────────────────────────────────────────────────────────────────────────


def test_here_it_agrees_with_the_system() -> None:
    budget = cpu_budget()
    assert budget.logical == os.cpu_count()
    assert usable_threads() == budget.threads
    if sys.platform == "linux":
        assert budget.affinity == len(os.sched_getaffinity(0))
        assert budget.threads <= budget.affinity


@LINUX
def test_a_change_of_affinity_is_seen() -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert cpu_budget().affinity == 1
        assert usable_threads() == 1
    finally:
        os.sched_setaffinity(0, before)
    assert cpu_budget().affinity == len(before)


def test_without_affinity_the_cores_of_the_machine_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpus, "_cpus_here", lambda: (8, None))
    monkeypatch.setattr(cpus, "_cpu_numbers", lambda root: ())
    monkeypatch.setattr(cpus, "_count_cores", lambda root, numbers: 4)
    monkeypatch.setattr(cpus, "_tightest_quota", lambda root: (None, None))
    budget = cpu_budget()
    assert (budget.affinity, budget.affinity_physical, budget.threads) == (None, None, 4)


@pytest.mark.parametrize(
    ("value", "expected"),
    [("3", 3), ("1", 1), ("0", 32), ("", 32), ("+3", 32), (" 3", 32), ("two", 32), ("99999999999", 32)],
)
def test_the_variable_counts_as_ort_reads_it(
    value: str, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(cpus.INTRA_VARIABLE, value)
    monkeypatch.setattr(cpus, "_variables_are_read", lambda: True)
    assert cpu_budget(trees.smt_64(tmp_path)).ort_default == expected


def test_an_old_ort_does_not_read_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cpus.INTRA_VARIABLE, "3")
    monkeypatch.setattr(cpus, "_variables_are_read", lambda: False)
    assert cpu_budget(trees.smt_64(tmp_path)).ort_default == 32


COUNT = """
import os, sys
if sys.argv[2] == "pinned":
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import numpy, onnxruntime as ort
from onnx import TensorProto, helper
from hotlap.cpus import cpu_budget
x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n"]) for n in "xy")
graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "g", [x], [y])
opsets = [helper.make_opsetid("", 17)]
model = helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
options = ort.SessionOptions()
if sys.argv[1] == "ours":
    options.intra_op_num_threads = cpu_budget().threads
before = len(os.listdir("/proc/self/task"))
session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
budget = cpu_budget()
print(len(os.listdir("/proc/self/task")) - before + 1, budget.ort_default, budget.threads)
"""


def count_threads(whose: str, *, pinned: bool = False, **variables: str) -> tuple[list[int], str]:
    """[threads of a real session, what we predict for ORT alone, what we would use], and its stderr."""
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")

    done = subprocess.run(
        [sys.executable, "-c", COUNT, whose, "pinned" if pinned else "free"],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(word) for word in done.stdout.split()], done.stderr


@LINUX
@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize("variables", [{}, {"ORT_INTRA_OP_NUM_THREADS": "3"}, {"OMP_NUM_THREADS": "1"}])
def test_a_real_session_starts_as_many_threads_as_predicted(pinned: bool, variables: dict[str, str]) -> None:
    (started, predicted, _), _ = count_threads("default", pinned=pinned, **variables)
    assert started == predicted


@LINUX
def test_with_our_count_a_pinned_session_neither_exceeds_its_cpus_nor_complains() -> None:
    (started, _, ours), said = count_threads("ours", pinned=True)
    assert started == ours == 1
    assert "pthread_setaffinity_np" not in said
