"""Each case in a process of its own: a hang must not hang the tests, and a fork must not copy them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from hotlap.runtime import forks
from tests import tiny

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

HEAD = """
    import os, sys, threading
    import numpy as np
    import hotlap
    x = np.ones((64, 16), np.float32)

    def in_child(act):
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            try:
                act()
            except hotlap.HotlapError as error:
                print(type(error).__name__, error, flush=True)
            sys.exit(3)
        print("exit code", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


def said(tmp_path: Path, script: str) -> list[str]:
    """What the script prints; a hang fails."""
    tiny.save(tiny.mlp(hidden=2048), tmp_path / "m.onnx")
    text = textwrap.dedent(HEAD) + textwrap.dedent(script)
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", text],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


SESSIONS = {
    "one thread": "threads=1",
    "two threads": "threads=2",
    "parallel": "threads=2, session={'execution_mode': 'ORT_PARALLEL', 'inter_op_num_threads': 2}",
}


@needs_fork
@pytest.mark.parametrize("how", SESSIONS)
def test_a_call_in_a_forked_child_says_what_to_do_and_nothing_hangs(tmp_path: Path, how: str) -> None:
    lines = said(
        tmp_path,
        f"""
        runner = hotlap.open("m.onnx", {SESSIONS[how]})
        for _ in range(3): y = runner(x)
        step = runner.step({{"x": (64, 16)}})
        in_child(lambda: runner(x))
        in_child(lambda: step())
        in_child(lambda: runner.close())
        print((runner(x) == y).all(), (runner(x) == y).all())
        """,
    )
    message = (
        "UsageError this runner of m.onnx was opened before this process was forked, and its threads stayed "
        'behind: open the model here, or open it with on_fork="rebuild"'
    )
    assert lines == [message, "exit code 3", message, "exit code 3", "exit code 3", "True True"]


@needs_fork
@pytest.mark.parametrize("how", SESSIONS)
def test_it_is_rebuilt_in_the_child_where_that_was_asked_for(tmp_path: Path, how: str) -> None:
    lines = said(
        tmp_path,
        f"""
        runner = hotlap.open("m.onnx", on_fork="rebuild", {SESSIONS[how]})
        for _ in range(3): y = runner(x)
        os.chdir("/")
        def act():
            for _ in range(3): print((runner(x) == y).all(), runner.threads)
        in_child(act)
        in_child(lambda: in_child(act))
        """,
    )
    threads = "1" if how == "one thread" else "2"
    rebuilt = [f"True {threads}"] * 3
    assert lines == [*rebuilt, "exit code 3", *rebuilt, "exit code 3", "exit code 3"]


@needs_fork
def test_a_fork_while_other_threads_are_in_the_model(tmp_path: Path) -> None:
    lines = said(
        tmp_path,
        """
        runner = hotlap.open("m.onnx", on_fork="rebuild", threads=2)
        y = runner(x)
        over = threading.Event()
        def work():
            while not over.is_set():
                runner.run({"x": x}, deadline=60)
        threads = [threading.Thread(target=work) for _ in range(3)]
        for t in threads: t.start()
        for _ in range(5):
            in_child(lambda: print((runner.run({"x": x}, deadline=60)["y"] == y).all(), flush=True))
        over.set()
        for t in threads: t.join()
        """,
    )
    assert lines == ["True", "exit code 3"] * 5


@needs_fork
def test_awaited_calls_after_a_fork(tmp_path: Path) -> None:
    lines = said(
        tmp_path,
        """
        import asyncio
        runner = hotlap.open("m.onnx", on_fork="rebuild", threads=1)
        asyncio.run(runner.arun({"x": x}))
        in_child(lambda: print(asyncio.run(runner.arun({"x": x}))["y"].shape, flush=True))
        """,
    )
    assert lines == ["(64, 4)", "exit code 3"]


@needs_fork
def test_what_python_clears_up_at_its_end_is_cleared_up(tmp_path: Path) -> None:
    lines = said(
        tmp_path,
        """
        import atexit
        runner = hotlap.open("m.onnx")
        runner(x)
        in_child(lambda: atexit.register(print, "goodbye", flush=True))
        """,
    )
    assert lines == ["goodbye", "exit code 3", "goodbye"] or lines == ["goodbye", "exit code 3"]


def test_abandoned_things_are_kept() -> None:
    class Thing:
        pass

    thing = Thing()
    before = sys.getrefcount(thing)
    forks.abandon(thing)
    assert sys.getrefcount(thing) == before + 1
