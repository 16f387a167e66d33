"""How many threads may really run here: affinity, cgroup quota, physical cores, and the count that follows.

ONNX Runtime (ORT) alone starts one thread for each physical core of the *machine*. In a container that may
use two CPUs of a 64-core machine the kernel then throttles 32 threads down to two CPUs' worth of time, and
latency multiplies. So hotlap always sets the count itself, by one rule:

    threads = max(1, min(physical cores among the CPUs we may run on, floor(quota)))

Physical cores, since two hyper-threads of one core share its vector units. Floor, since a thread that is
throttled for part of each period holds up all the others at the end of every operator.

What cannot be read is None, never an error: the files differ between kernels, containers and systems.
"""

from __future__ import annotations

import ctypes
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

__all__ = ["CpuBudget", "cpu_budget", "usable_threads"]

INTRA_VARIABLE = "ORT_INTRA_OP_NUM_THREADS"
VARIABLES_SINCE = (1, 29)
"""The first ORT that reads ``ORT_INTRA_OP_NUM_THREADS`` and ``ORT_INTER_OP_NUM_THREADS``: the names are in
the library of 1.29 and not in that of 1.28."""
ORT_WHEELS = (
    "onnxruntime",
    "onnxruntime-gpu",
    "onnxruntime-openvino",
    "onnxruntime-directml",
    "onnxruntime-qnn",
)
"""The distributions that hold the module ``onnxruntime``."""
_HERE = Path("/")
_DEFAULT_PERIOD_US = 100_000  # kernel: Documentation/admin-guide/cgroup-v2.rst, cpu.max


@dataclass(frozen=True, slots=True)
class CpuBudget:
    """What the CPUs of this machine are to this process. Counts of CPUs, all of them.

    Attributes:
        logical: CPUs of the machine as the system counts them (``os.cpu_count()``).
        physical: distinct physical cores of the machine; None where the system does not say.
        affinity: CPUs that this process may be scheduled on; None where the system cannot say.
        affinity_physical: distinct physical cores among those; None where unknown.
        quota: CPUs' worth of time by the tightest cgroup quota between this process's group and the root;
            may be a fraction. None: no quota, or none that can be read.
        quota_source: the file that sets that quota.
        threads: what one session should use, the calling thread included.
        ort_default: what a session with no options would use, the calling thread included.
        reason: all of it in one line.
    """

    logical: int
    physical: int | None
    affinity: int | None
    affinity_physical: int | None
    quota: float | None
    quota_source: str | None
    threads: int
    ort_default: int
    reason: str


def cpu_budget(root: Path = _HERE) -> CpuBudget:
    """What this process may use, read fresh (affinity and quota can change while it runs).

    Args:
        root: where ``/proc`` and ``/sys`` hang; another folder holds a recorded machine.
    """
    logical, allowed = _cpus_here() if root == _HERE else _cpus_recorded(root)
    affinity = len(allowed) if allowed else None
    every = _cpu_numbers(root) or tuple(range(logical))
    physical = _count_cores(root, every) or (_cores_by_sysctl() if root == _HERE else None)
    affinity_physical = _count_cores(root, allowed) if allowed else None
    quota, source = _tightest_quota(root)
    cores = affinity_physical or min(known for known in (physical, affinity, logical) if known)
    threads = max(1, cores if quota is None else min(cores, math.floor(quota)))
    ort_default = _variable_threads() or physical or logical
    return CpuBudget(
        logical,
        physical,
        affinity,
        affinity_physical,
        quota,
        source,
        threads,
        ort_default,
        _reason(logical, affinity, quota, threads, ort_default),
    )


def usable_threads() -> int:
    """The number of threads one session should use, the calling one included; at least 1."""
    return cpu_budget().threads


def _reason(logical: int, affinity: int | None, quota: float | None, threads: int, ort_default: int) -> str:
    may = "unknown" if affinity is None else affinity
    time = "none" if quota is None else round(quota, 2)
    unit = "thread" if threads == 1 else "threads"
    here = f"host {logical}, affinity {may}, quota {time}"
    return f"{here} -> {threads} {unit} (ORT alone would use {ort_default})"


# ── affinity ──────────────────────────────────────────────────────────────────────────────────────────


def _cpus_here() -> tuple[int, tuple[int, ...] | None]:
    """How many CPUs there are, and the numbers of those we may run on (None: the system cannot say)."""
    logical = os.cpu_count() or 1
    if sys.platform == "linux":
        return logical, tuple(sorted(os.sched_getaffinity(0)))
    return logical, None


def _cpus_recorded(root: Path) -> tuple[int, tuple[int, ...] | None]:
    found = re.search(
        r"^Cpus_allowed_list:\s*(\S+)", read_text(root / "proc/self/status") or "", re.MULTILINE
    )
    allowed = _parse_cpu_list(found.group(1)) if found else ()
    known = _cpu_numbers(root)
    # A kernel lists every CPU it was built for, present or not.
    here = tuple(n for n in allowed if not known or n in known)
    return len(known) or len(here) or 1, here or None


def _parse_cpu_list(text: str) -> tuple[int, ...]:
    """``"0-2,5"`` → (0, 1, 2, 5); () where it is no such list."""
    numbers: list[int] = []
    for part in text.strip().split(","):
        found = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part)
        if not found:
            return ()
        low = int(found.group(1))
        numbers.extend(range(low, int(found.group(2) or low) + 1))
    return tuple(numbers)


# ── physical cores ────────────────────────────────────────────────────────────────────────────────────


def _count_cores(root: Path, cpus: Iterable[int]) -> int | None:
    """Distinct physical cores among the CPUs; None where one of them has no topology."""
    cores = {_core_of(root, cpu) for cpu in cpus}
    return None if None in cores or not cores else len(cores)


@cache
def _core_of(root: Path, cpu: int) -> str | None:
    """A word that two CPUs share exactly when they are threads of one core.

    Kept for the life of the process: reading it for each of 256 CPUs takes milliseconds, and a machine does
    not change its cores.
    """
    folder = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
    # core_cpus_list is the newer name of thread_siblings_list (kernel: admin-guide/cputopology.rst).
    for name in ("core_cpus_list", "thread_siblings_list"):
        siblings = _parse_cpu_list(read_text(folder / name) or "")
        if cpu in siblings:
            return ",".join(map(str, siblings))
    core, package = read_int(folder / "core_id"), read_int(folder / "physical_package_id")
    return None if core is None or core < 0 else f"package {package} core {core}"


@cache
def _cpu_numbers(root: Path) -> tuple[int, ...]:
    return _parse_cpu_list(read_text(root / "sys/devices/system/cpu/online") or "")


@cache
def _cores_by_sysctl() -> int | None:
    """macOS: ``sysctl hw.physicalcpu``; None elsewhere."""
    if sys.platform != "darwin":
        return None
    try:
        value, size = ctypes.c_int(0), ctypes.c_size_t(ctypes.sizeof(ctypes.c_int))
        libc = ctypes.CDLL(None)
        failed = libc.sysctlbyname(b"hw.physicalcpu", ctypes.byref(value), ctypes.byref(size), None, 0)
        return value.value if not failed and value.value > 0 else None
    except (OSError, AttributeError):
        return None


# ── cgroup quota ──────────────────────────────────────────────────────────────────────────────────────


def _tightest_quota(root: Path) -> tuple[float | None, str | None]:
    """The tightest quota from our group up to the root, over cgroup v1 and v2 (a hybrid system has both)."""
    found = [one for version, folder in group_folders(root, "cpu") for one in _quota(version, folder)]
    if not found:
        return None, None
    quota, path = min(found, key=lambda pair: pair[0])
    return quota, "/" + path.relative_to(root).as_posix()


def _quota(version: int, folder: Path) -> Iterator[tuple[float, Path]]:
    """The quota of one group in CPUs, with its file; nothing where it has none or it cannot be read."""
    if version == 2:
        path = folder / "cpu.max"
        words = (read_text(path) or "").split()
        limit, period = (to_int(words[0]) if words else None), _DEFAULT_PERIOD_US
        if len(words) > 1:
            period = to_int(words[1]) or 0
    else:
        path = folder / "cpu.cfs_quota_us"
        limit, period = read_int(path), read_int(folder / "cpu.cfs_period_us") or 0
    if limit is not None and limit > 0 and period > 0:  # "max" and -1 mean: no quota
        yield limit / period, path


def group_folders(root: Path, controller: str) -> Iterator[tuple[int, Path]]:
    """(cgroup version, folder) for our group and each of its parents that can be seen from here.

    Args:
        root: where ``/proc`` and ``/sys`` hang.
        controller: ``"cpu"`` or ``"memory"``.
    """
    for version, group in _own_groups(root, controller).items():
        mounts = [(top, point) for v, top, point in _mounts(root, controller) if v == version]
        seen = [(point, _below(group, top)) for top, point in mounts]
        inside = [(point, rest) for point, rest in seen if rest is not None]
        # In a container the path in /proc/self/cgroup can be the host's, or lead out of the mount ("/../x").
        # Then the mount point itself is as near to our group as can be seen.
        for point, rest in inside or [(point, PurePosixPath()) for point, _ in seen]:
            base = root / point.lstrip("/")
            yield version, base
            for depth in range(1, len(rest.parts) + 1):
                yield version, base.joinpath(*rest.parts[:depth])


def _below(group: str, top: str) -> PurePosixPath | None:
    """The group's path below a mount whose root is `top`; None where it does not lie below it."""
    path = PurePosixPath(group)
    if ".." in path.parts or not path.is_relative_to(top):
        return None
    return path.relative_to(top)


def _own_groups(root: Path, controller: str) -> dict[int, str]:
    """cgroup version → path of our group: ``{1: "/docker/ab12", 2: "/"}`` (man 7 cgroups)."""
    groups: dict[int, str] = {}
    for line in (read_text(root / "proc/self/cgroup") or "").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if path.startswith("/") and number == "0" and not controllers:
            groups[2] = path
        elif path.startswith("/") and controller in controllers.split(","):
            groups[1] = path
    return groups


def _mounts(root: Path, controller: str) -> Iterator[tuple[int, str, str]]:
    """(cgroup version, the mount's root within the hierarchy, mount point) (man 5 proc, mountinfo)."""
    for line in (read_text(root / "proc/self/mountinfo") or "").splitlines():
        front, _, back = line.partition(" - ")
        fields, kind = front.split(" "), back.split(" ")
        if len(fields) < 5 or len(kind) < 3:
            continue
        top, point = _unescape(fields[3]), _unescape(fields[4])
        if kind[0] == "cgroup2":
            yield 2, top, point
        elif kind[0] == "cgroup" and controller in kind[2].split(","):
            yield 1, top, point


def _unescape(text: str) -> str:
    r"""Blanks and backslashes stand as ``\040`` in mountinfo."""
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal.group(1), 8)), text)


# ── what ORT alone would do ───────────────────────────────────────────────────────────────────────────


def _variable_threads() -> int | None:
    """What ``ORT_INTRA_OP_NUM_THREADS`` asks for; None where it is unset, 0, no number, or not read by ORT.

    No sign and no blank: ORT refuses to make a session on them.
    """
    value = os.environ.get(INTRA_VARIABLE, "")
    return int(value) or None if re.fullmatch(r"[0-9]{1,9}", value) and _variables_are_read() else None


@cache
def _variables_are_read() -> bool:
    """Whether the installed ORT is new enough to read the variables; True where none is installed."""
    from importlib import metadata  # slow to import, and seldom needed

    for wheel in ORT_WHEELS:
        try:
            found = re.match(r"(\d+)\.(\d+)", metadata.version(wheel))
        except metadata.PackageNotFoundError:
            continue
        return found is None or (int(found.group(1)), int(found.group(2))) >= VARIABLES_SINCE
    return True


# ── small files ───────────────────────────────────────────────────────────────────────────────────────


def read_text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return None


def read_int(path: Path) -> int | None:
    return to_int((read_text(path) or "").strip())


def to_int(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text) else None
