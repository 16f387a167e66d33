"""What the machine did while a loop ran: CPU time of others, steal, throttling, memory, threads.

Everything here is None where the system cannot say: only Linux tells most of it.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import NamedTuple

__all__ = [
    "CpuTimes",
    "Shares",
    "cpu_times",
    "frequency",
    "peak_memory",
    "resident_memory",
    "shares",
    "switches",
    "thread_count",
    "throttled",
]

MIN_TICKS = 50
"""/proc/stat counts in ticks of 10 ms; over fewer ticks than these a share is a guess, so it is unknown."""


class CpuTimes(NamedTuple):
    """Seconds since boot, summed over the CPUs that this process may use."""

    busy: float
    steal: float
    total: float


class Shares(NamedTuple):
    """What others took of the CPUs that this process may use, each 0 to 1."""

    foreign: float
    steal: float


def cpu_times(root: Path = Path("/")) -> CpuTimes | None:
    """The counters of /proc/stat now; None where there are none.

    Only CPUs of our own affinity are summed: what happens on others is no disturbance.
    Source: proc_stat(5): user nice system idle iowait irq softirq steal guest guest_nice, in ticks; guest
    time is part of user time.
    """
    try:
        lines = (root / "proc/stat").read_text(encoding="ascii").splitlines()
        tick = os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError):
        return None
    ours = {f"cpu{n}" for n in os.sched_getaffinity(0)} if hasattr(os, "sched_getaffinity") else None
    busy = steal = total = 0
    for line in lines:
        name, *fields = line.split()
        if not name.startswith("cpu") or name == "cpu" or (ours is not None and name not in ours):
            continue
        user, nice, system, idle, iowait, irq, softirq, stolen = (int(f) for f in (fields + ["0"] * 8)[:8])
        busy += user + nice + system + irq + softirq
        steal += stolen
        total += user + nice + system + idle + iowait + irq + softirq + stolen
    return CpuTimes(busy / tick, steal / tick, total / tick) if total else None


def shares(before: CpuTimes | None, after: CpuTimes | None, own: float) -> Shares | None:
    """What others took between two readings. own: CPU seconds of this process in between.

    None where it cannot be read, or where the span is too short for the counters' ticks.
    """
    if before is None or after is None:
        return None
    total = after.total - before.total
    if total < MIN_TICKS / 100:
        return None
    foreign = (after.busy - before.busy - own) / total
    return Shares(min(1.0, max(0.0, foreign)), min(1.0, max(0.0, (after.steal - before.steal) / total)))


def switches() -> int | None:
    """Involuntary context switches of this process so far: how often it was made to wait."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def peak_memory() -> int | None:
    """The most resident memory of this process so far, bytes.

    On Linux from VmHWM: getrusage's ru_maxrss also counts what the parent had before exec.
    """
    status = _status_field("VmHWM")
    if status is not None:
        return status * 1024
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def resident_memory() -> int | None:
    """What is resident of this process now, bytes."""
    status = _status_field("VmRSS")
    return None if status is None else status * 1024


def frequency(root: Path = Path("/")) -> float | None:
    """MHz now, mean over the CPUs that this process may use; None where it is not told, as in most VMs.

    Source: the kernel's cpufreq documentation, scaling_cur_freq, in kHz.
    """
    ours = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    found = []
    for cpu in ours:
        try:
            text = (root / f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq").read_text("ascii")
            found.append(int(text) / 1000)
        except (OSError, ValueError):
            continue
    return sum(found) / len(found) if found else None


def thread_count() -> int:
    """Threads of this process, native ones included where the system tells; else Python's alone."""
    return _status_field("Threads") or threading.active_count()


def _status_field(name: str) -> int | None:
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith(name + ":")), None)


def throttled(root: Path = Path("/")) -> int | None:
    """How many scheduler periods our control group was throttled in so far; None where it is not told.

    Source: cgroup v2 cpu.stat (nr_throttled) in our own group; v1 has the same key under cpu/.
    """
    try:
        groups = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    for line in groups:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        mount = root / "sys/fs/cgroup" / ("cpu" if controllers else "")
        for folder in (mount / path.lstrip("/"), mount):  # in a container the path may be the host's
            found = _nr_throttled(folder / "cpu.stat")
            if found is not None:
                return found
    return None


def _nr_throttled(file: Path) -> int | None:
    try:
        lines = file.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("nr_throttled ")), None)
