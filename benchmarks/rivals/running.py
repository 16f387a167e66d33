"""A server in a process of its own, pinned to one CPU: its start, its CPU time, its memory, its end."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.rivals.asking import Request
from benchmarks.rivals.cases import Case
from benchmarks.rivals.servers import Server, environment, free_port

PATIENCE = 60.0
"""Seconds until a server must have answered."""
POLL = 0.005
"""Seconds between two tries."""
CLOSE = 1e-4
"""The answers agree to so much: they are of one runtime, but JSON may round."""


@dataclass(slots=True)
class Running:
    """A server that has answered.

    Attributes:
        port: it listens there, on 127.0.0.1.
        request: what it was asked.
        start_s: seconds from its command to its first right answer.
    """

    pid: int
    port: int
    request: Request
    start_s: float

    def cpu_s(self) -> float:
        """CPU seconds so far, of the process and of all that it started."""
        return cpu_s(self.pid)

    def memory(self) -> int:
        """Bytes resident: of several processes what they share counts once, as proportional set sizes do.

        Those would make one process alone smaller than it is: it shares libraries with strangers too.
        """
        members = tree(self.pid)
        kind = "Rss" if len(members) == 1 else "Pss"
        return sum(_resident(pid, kind) for pid in members)


@contextmanager
def running(server: Server, case: Case, cpu: int, folder: Path) -> Iterator[Running]:
    """Raises RuntimeError where it ends, answers wrong, or does not answer in time."""
    port, own = free_port(), folder / f"{time.monotonic_ns()}"
    own.mkdir()
    request, command, log = server.request(case), server.command(case, port, own), own / "log"
    with log.open("wb") as said:
        start = time.perf_counter()
        process = subprocess.Popen(
            ["taskset", "-c", str(cpu), *command],
            env=environment(server, case, own),
            cwd=own,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    try:
        _until_right(process, port, request, case, start)
        yield Running(process.pid, port, request, time.perf_counter() - start)
    except (RuntimeError, OSError) as error:
        raise RuntimeError(f"{server.name}: {error}\n{log.read_text(errors='replace')[-2000:]}") from error
    finally:
        _end(process)


def _until_right(
    process: subprocess.Popen[bytes], port: int, request: Request, case: Case, start: float
) -> None:
    status, last = 0, "no connection"
    while time.perf_counter() - start < PATIENCE:
        if process.poll() is not None:
            raise RuntimeError(f"it ended with {process.returncode}")
        try:
            status, headers, reply = post(port, request)
        except (OSError, http.client.HTTPException):
            time.sleep(POLL)
            continue
        if status == 200:
            got = np.asarray(request.read(headers, reply)).ravel()
            if not np.allclose(got, case.expected.ravel(), rtol=CLOSE, atol=CLOSE):
                raise RuntimeError(f"a wrong answer: {got[:4]}, expected {case.expected.ravel()[:4]}")
            return
        last = f"status {status}: {reply[:200]!r}"
        time.sleep(POLL)
    raise RuntimeError(f"no answer after {PATIENCE:.0f} s: {last}")


def post(port: int, request: Request) -> tuple[int, http.client.HTTPMessage, bytes]:
    """One request over a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("POST", request.path, request.body, request.headers)
        reply = connection.getresponse()
        return reply.status, reply.headers, reply.read()
    finally:
        connection.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask it to end; whatever is left of it and of its session after some seconds is killed."""
    process.terminate()
    try:
        process.wait(8)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pid in _session(process.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def tree(root: int) -> set[int]:
    """The process, those that it started and theirs, and whatever else is of its session."""
    parents = {pid: fields[1] for pid, fields in _stats().items()}
    found = {root} | _session(root)
    while more := {pid for pid, parent in parents.items() if int(parent) in found and pid not in found}:
        found |= more
    return found


def _session(root: int) -> set[int]:
    return {pid for pid, fields in _stats().items() if int(fields[3]) == root}


def _stats() -> dict[int, list[str]]:
    """/proc/PID/stat of every process, from the state on.

    Source: proc_pid_stat(5): state ppid pgrp session … utime stime cutime cstime are fields 3 to 6, 14 to 17.
    """
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (fields := _stat(int(folder.name))):
            found[int(folder.name)] = fields
    return found


def _stat(pid: int) -> list[str]:
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        )
    except OSError:  # it has ended
        return []


def cpu_s(pid: int) -> float:
    """CPU seconds so far, of the process and of all that it started."""
    return sum(_ticked_s(member) for member in tree(pid))


def _ticked_s(pid: int) -> float:
    """Its own, and that of children that ended and were waited for."""
    ticks: int = sum(int(field) for field in _stat(pid)[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def _resident(pid: int, kind: str) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(f"{kind}:")), 0)
