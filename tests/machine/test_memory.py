from __future__ import annotations

from pathlib import Path

import pytest

from hotlap.machine.memory import memory
from tests.machine import trees

KIB = 1024


def test_a_container_has_the_machines_memory_and_its_own_limit(tmp_path: Path) -> None:
    found = memory(trees.docker_v2(tmp_path))
    assert found.total == 263921232 * KIB
    assert found.available == 251000000 * KIB
    assert found.limit == 2 * KIB**3


@pytest.mark.parametrize("written", ["9223372036854771712", "max", "512000000000000"])
def test_no_limit_is_none(tmp_path: Path, written: str) -> None:
    trees.write(
        tmp_path,
        {
            "proc/meminfo": "MemTotal: 1000 kB\n",
            "proc/self/cgroup": "4:memory:/a\n0::/\n",
            "proc/self/mountinfo": "1 2 0:3 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
            "sys/fs/cgroup/memory/a/memory.limit_in_bytes": written,
        },
    )
    assert memory(tmp_path).limit is None


def test_the_tightest_limit_on_the_path_counts(tmp_path: Path) -> None:
    trees.systemd_slice(tmp_path)
    unit = "sys/fs/cgroup/system.slice/models.slice"
    trees.write(tmp_path, {f"{unit}/memory.max": "1000\n", f"{unit}/serve.service/memory.max": "5000\n"})
    assert memory(tmp_path).limit == 1000


def test_nothing_readable_is_unknown(tmp_path: Path) -> None:
    for root in (tmp_path / "empty", trees.malformed(tmp_path / "malformed")):
        found = memory(root)
        assert (found.total, found.available, found.limit) == (None, None, None)


def test_this_machine_has_some() -> None:
    total = memory().total
    assert total is None or total > 2**28
