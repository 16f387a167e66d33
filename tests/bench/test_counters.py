from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from hotlap.bench import counters
from hotlap.bench.counters import CpuTimes

LINUX = sys.platform == "linux"
only_linux = pytest.mark.skipif(not LINUX, reason="the counters of /proc exist on Linux alone")


def put(root: Path, name: str, text: str) -> None:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@only_linux
def test_times_are_summed_over_the_cpus_that_we_may_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 2})
    monkeypatch.setattr(os, "sysconf", lambda name: 100)
    put(
        tmp_path,
        "proc/stat",
        "cpu  1 1 1 1 1 1 1 1 0 0\n"
        "cpu0 100 10 50 800 40 5 5 20 0 0\n"
        "cpu1 900 900 900 900 900 900 900 900 0 0\n"
        "cpu2 200 0 0 100 0 0 0 0 200 0\n"
        "cpu10 900 900 900 900 900 900 900 900 0 0\n"
        "intr 5 0\n",
    )
    times = counters.cpu_times(tmp_path)
    assert times is not None
    assert times == pytest.approx(CpuTimes(busy=3.7, steal=0.2, total=13.3))


def test_no_counters_are_unknown(tmp_path: Path) -> None:
    assert counters.cpu_times(tmp_path) is None
    assert counters.shares(None, CpuTimes(1, 0, 2), 0.5) is None
    assert counters.throttled(tmp_path) is None


def test_shares_are_what_others_took() -> None:
    before, after = CpuTimes(10, 1, 100), CpuTimes(11.2, 1.1, 102)
    found = counters.shares(before, after, own=1.0)
    assert found is not None
    assert found == pytest.approx((0.1, 0.05))


def test_shares_are_never_negative_since_ticks_are_coarse() -> None:
    found = counters.shares(CpuTimes(0, 0, 0), CpuTimes(0.99, 0, 2), own=1.0)
    assert found is not None and found.foreign == 0.0


def test_a_span_of_few_ticks_is_unknown() -> None:
    assert counters.shares(CpuTimes(0, 0, 0), CpuTimes(0.2, 0, 0.3), own=0.0) is None


@pytest.mark.parametrize(
    ("groups", "file"),
    [
        ("0::/app\n", "sys/fs/cgroup/app/cpu.stat"),
        ("0::/host/path/of/a/container\n", "sys/fs/cgroup/cpu.stat"),
        ("4:memory:/m\n3:cpu,cpuacct:/app\n0::/\n", "sys/fs/cgroup/cpu/app/cpu.stat"),
    ],
)
def test_throttling_is_read_from_either_version_of_control_groups(
    tmp_path: Path, groups: str, file: str
) -> None:
    put(tmp_path, "proc/self/cgroup", groups)
    put(tmp_path, file, "nr_periods 40\nnr_throttled 7\nthrottled_usec 100\n")
    assert counters.throttled(tmp_path) == 7


def test_a_group_without_the_counter_is_unknown(tmp_path: Path) -> None:
    put(tmp_path, "proc/self/cgroup", "0::/\n")
    put(tmp_path, "sys/fs/cgroup/cpu.stat", "usage_usec 5\n")
    assert counters.throttled(tmp_path) is None


def test_a_started_thread_is_counted() -> None:
    before, go = counters.thread_count(), threading.Event()
    thread = threading.Thread(target=go.wait)
    thread.start()
    try:
        assert counters.thread_count() == before + 1
    finally:
        go.set()
        thread.join()


@only_linux
def test_peak_memory_and_switches_are_known_here() -> None:
    peak, switches = counters.peak_memory(), counters.switches()
    assert peak is not None and 2**20 < peak < 2**40
    assert switches is not None and switches >= 0


@only_linux
def test_the_counters_of_this_machine_can_be_read() -> None:
    times = counters.cpu_times()
    assert times is not None and 0 < times.busy < times.total


@only_linux
def test_settled_memory_is_what_is_resident_now() -> None:
    now, peak = counters.resident_memory(), counters.peak_memory()
    assert now is not None and peak is not None and 2**20 < now <= peak


@only_linux
def test_the_frequency_is_the_mean_of_our_cpus_or_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 2})
    assert counters.frequency(tmp_path) is None
    for cpu, khz in ((0, 3_000_000), (1, 800_000), (2, 2_000_000)):
        put(tmp_path, f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq", f"{khz}\n")
    assert counters.frequency(tmp_path) == 2500.0
