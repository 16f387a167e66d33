"""Another program that keeps one core busy, for as long as the block lasts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_BUSY = """
import os, sys, threading

def end():
    sys.stdin.read()  # our end of it is closed when the block ends, or when whoever began it is gone
    os._exit(0)

threading.Thread(target=end, daemon=True).start()
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {int(sys.argv[1])})
while True:
    pass
"""


@contextmanager
def busy_neighbour() -> Iterator[None]:
    core = min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    program = subprocess.Popen([sys.executable, "-c", _BUSY, str(core)], stdin=subprocess.PIPE)
    try:
        yield
    finally:
        program.kill()
        program.wait()
        assert program.stdin is not None
        program.stdin.close()
