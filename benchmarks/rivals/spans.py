"""A span of measuring: on which CPUs, under which load, and how much of them others took."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from benchmarks.rivals.load import load
from benchmarks.rivals.running import Running
from benchmarks.rivals.servers import PROGRAMS
from hotlap.bench import counters
from hotlap.bench.doubts import DISTURBED


class Place(NamedTuple):
    """Where it runs: the server's CPU, the client's, and a folder for both."""

    server: int
    client: int
    folder: Path


@contextmanager
def two_cpus() -> Iterator[Place]:
    """Two of the CPUs that this process may use; as long as the block lasts it uses no other."""
    before = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    if len(before) < 2:
        raise SystemExit("serve: it wants Linux, and two CPUs: one for the server, one for the client")
    server, client = sorted(before)[:2]
    os.sched_setaffinity(0, {server, client})
    try:
        with tempfile.TemporaryDirectory() as folder:
            yield Place(server, client, Path(folder))
    finally:
        os.sched_setaffinity(0, before)


class Measured(Protocol):
    """A process, and what it has started."""

    def cpu_s(self) -> float: ...


class Watch:
    """What servers and what others took of the CPUs since it was made; without a server, others alone."""

    def __init__(self, *servers: Measured) -> None:
        self._servers = servers
        self._before = counters.cpu_times(), self._served(), _ours()

    def seen(self) -> tuple[float, float | None]:
        """The servers' CPU seconds; and of both CPUs the share (0 to 1) that neither they nor we took."""
        times, served, ours = self._before
        took = self._served() - served
        others = counters.shares(times, counters.cpu_times(), took + _ours() - ours)
        return took, None if others is None else others.foreign + others.steal

    def _served(self) -> float:
        return sum(server.cpu_s() for server in self._servers)


def _ours() -> float:
    """CPU seconds of this process, and of those that it started where they have ended: the clients."""
    return sum(os.times()[:4])


def loaded(server: Running, connections: int, seconds: float, place: Place) -> dict[str, Any]:
    """A load of so many seconds, after a third of that to warm up.

    Returns:
        p50_us, p99_us (the client's), per_s (answers), cpu_us (the server's, a request), foreign (others).
    """

    def loaded_for(span: float) -> dict[str, Any]:
        where = {"cpu": place.client, "folder": place.folder}
        return load(server.port, server.request, connections=connections, seconds=span, **where)

    loaded_for(seconds / 3)
    watch = Watch(server)
    seen = loaded_for(seconds)
    cpu_s, foreign = watch.seen()
    return {
        "p50_us": seen["p50_us"],
        "p99_us": seen["p99_us"],
        "per_s": round(seen["requests"] / seen["seconds"], 1),
        "cpu_us": round(1e6 * cpu_s / seen["requests"], 2),
        "foreign": foreign,
    }


def quietest(measure: Callable[[], dict[str, Any]], tries: int) -> dict[str, Any]:
    """The first undisturbed one of the tries, or else the least disturbed: never chosen by its speed."""
    found: list[dict[str, Any]] = []
    for _ in range(tries):
        found.append(measure())
        if (found[-1]["foreign"] or 0.0) <= DISTURBED:
            return found[-1]
    return min(found, key=lambda one: float(one["foreign"]))


def said_by(python: str | Path, cpu: int, program: str, *arguments: object) -> str:
    """The last line that a program of `PROGRAMS` prints, run on one CPU.

    Raises:
        RuntimeError: it failed.
    """
    command = ["taskset", "-c", str(cpu), str(python), str(PROGRAMS / program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{program} failed: {done.stderr[-2000:]}")
    return done.stdout.splitlines()[-1]
