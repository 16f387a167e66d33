"""The session alone, in a process on the server's CPU: `bare_session`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from benchmarks.rivals.cases import Case
from benchmarks.rivals.running import cpu_s
from benchmarks.rivals.servers import PROGRAMS


@dataclass(slots=True)
class Bare:
    """A session that calls itself."""

    process: subprocess.Popen[bytes]

    def p50(self, seconds: float) -> float:
        """The p50, in seconds, of the calls that fit into so many seconds.

        Raises:
            RuntimeError: it has ended.
        """
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None and stdout is not None
        said = b""
        with suppress(BrokenPipeError):
            stdin.write(b"%f\n" % seconds)
            said = stdout.readline()
        if not said:
            raise RuntimeError(f"the bare session ended with {self.process.wait()}")
        return float(said)

    def cpu_s(self) -> float:
        """CPU seconds so far."""
        return cpu_s(self.process.pid)


@contextmanager
def bare_session(case: Case, cpu: int) -> Iterator[Bare]:
    """A session as `Bare`, until the block ends."""
    program = [
        sys.executable,
        str(PROGRAMS / "bare.py"),
        str(case.model),
        str(case.saved_feed()),
        case.wanted,
    ]
    with subprocess.Popen(
        ["taskset", "-c", str(cpu), *program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        try:
            yield Bare(process)
        finally:
            process.kill()
