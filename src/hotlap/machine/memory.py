"""How much memory there is, how much is free, and the limit of the container."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from hotlap.cpus import group_folders, read_int, read_text

__all__ = ["Memory", "memory"]


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes in bytes; None where the system does not say.

    Attributes:
        total: of the machine.
        available: what a new process could take without swapping.
        limit: the tightest cgroup limit between this process's group and the root; None: no limit.
    """

    total: int | None
    available: int | None
    limit: int | None


def memory(root: Path = Path("/")) -> Memory:
    """Reads ``/proc/meminfo`` and the cgroup limits under the root."""
    text = read_text(root / "proc/meminfo") or ""
    limits = list(_limits(root))
    total = _kib(text, "MemTotal") or (_total_by_sysconf() if root == Path("/") else None)
    limit = min(limits) if limits else None
    return Memory(
        total=total,
        available=_kib(text, "MemAvailable"),
        # cgroup v1 writes "no limit" as a number that is larger than any memory.
        limit=None if limit and total and limit >= total else limit,
    )


def _kib(meminfo: str, name: str) -> int | None:
    found = re.search(rf"^{name}:\s*(\d+) kB$", meminfo, re.MULTILINE)
    return int(found.group(1)) * 1024 if found else None


def _total_by_sysconf() -> int | None:
    """macOS and other systems without ``/proc``."""
    try:
        from os import sysconf

        return sysconf("SC_PHYS_PAGES") * sysconf("SC_PAGE_SIZE") or None
    except (ImportError, ValueError, OSError):
        return None


def _limits(root: Path) -> Iterator[int]:
    for version, folder in group_folders(root, "memory"):
        limit = read_int(folder / ("memory.max" if version == 2 else "memory.limit_in_bytes"))
        if limit is not None and limit > 0:
            yield limit
