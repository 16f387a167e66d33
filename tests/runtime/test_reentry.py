"""A signal handler, a finalizer or a callback of the garbage collector runs between any two lines of ours, in
the thread that it stops: what it calls must not wait for a lock which that thread holds."""

from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hotlap
from hotlap.errors import Cancelled, UsageError
from hotlap.runtime import Cancel, FakeRunner, forks
from hotlap.runtime.arun import Workers
from hotlap.runtime.copies import Copies
from hotlap.runtime.limits import Limits, Watched
from hotlap.runtime.recording import Recorder
from hotlap.tensors import TensorSpec
from tests import tiny

OURS = str(Path(forks.__file__).parent)
X = TensorSpec.of("x", "float32", [2])


def interrupted(work: Callable[[], Any], handler: Callable[[], Any], where: str = OURS) -> None:
    """Runs `work`, and `handler` before each line of the files at `where` that it comes to; a hang fails."""
    seen: set[tuple[str, int]] = set()
    ended: list[BaseException | None] = []

    def trace(frame: Any, event: str, arg: Any) -> Any:
        if not frame.f_code.co_filename.startswith(where):
            return None
        place = (frame.f_code.co_filename, frame.f_lineno)
        if event == "line" and place not in seen:
            seen.add(place)
            sys.settrace(None)
            handler()
            sys.settrace(trace)
        return trace

    def traced() -> None:
        sys.settrace(trace)
        try:
            work()
        except BaseException as error:  # noqa: BLE001  told below, by the thread that can fail the test
            ended.append(error)
        else:
            ended.append(None)
        finally:
            sys.settrace(None)

    thread = threading.Thread(target=traced, daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive(), "it waits for itself"
    assert ended == [None] and seen


def test_counting_copies() -> None:
    copies = Copies()
    interrupted(lambda: copies.count("x", "order"), lambda: copies.count("x", "order"))
    assert copies.seen()["x"]["order"] > 2


def test_a_cancel_at_any_moment_stops_the_call_or_is_seen_before_it() -> None:
    for moment in range(40):
        cancel, stopped, left = Cancel(), [], [moment]

        def handler(cancel: Cancel = cancel, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] == 0:
                cancel.cancel()

        def work(cancel: Cancel = cancel, stopped: list[str] = stopped) -> None:
            with suppress(Cancelled), Watched(Limits(cancel=cancel), lambda: stopped.append("stopped")):
                if cancel.cancelled:
                    assert stopped
                stopped.append("ran")

        interrupted(work, handler)
        assert cancel._running == {}


def test_recording(tmp_path: Path) -> None:
    feed = {"x": np.zeros(2, np.float32)}
    recorder = Recorder(tmp_path / "rec", inputs="all", feeds=4)
    for _ in range(3):
        interrupted(lambda: recorder.add(feed), lambda: recorder.add(feed))
    assert recorder.stopped == ""
    recorder.close()
    assert [p.name for p in tmp_path.iterdir()] == ["rec"], "one thread writes, into one folder"


def test_a_fake() -> None:
    fake = FakeRunner([X], [X])
    interrupted(lambda: fake.run({"x": [1, 2]}), lambda: fake.run({"x": [1, 2]}))
    assert len(fake.calls) > 2


def test_a_pool_that_is_closed() -> None:
    workers = Workers(1, 4)
    workers._submit(int).result(10)
    interrupted(workers.close, workers.close)
    with pytest.raises(UsageError, match="is closed"):
        workers._submit(int)


def test_a_pool_that_is_closed_while_it_starts_a_thread() -> None:
    """`submit` holds the pool's own lock then, which is none that a thread may take twice."""

    class Interrupted(ThreadPoolExecutor):
        def _adjust_thread_count(self) -> None:
            workers.close()
            super()._adjust_thread_count()  # type: ignore[misc]

    workers = Workers(1, 4)
    pool = workers._pool = Interrupted(1)
    answers: list[int] = []
    caller = threading.Thread(
        target=lambda: answers.append(workers._submit(lambda: 7).result(10)), daemon=True
    )
    caller.start()
    caller.join(10)
    assert answers == [7], "it waits for itself"
    for thread in pool._threads:
        thread.join(10)
        assert not thread.is_alive(), "closed, so its threads end"
    with pytest.raises(UsageError, match="is closed"):
        workers._submit(int)


def test_a_stream_says_that_it_is_in_a_call() -> None:
    fake = FakeRunner(
        [X, TensorSpec.of("s", "float32", [2])],
        [TensorSpec.of("t", "float32", [2])],
        answer=lambda feed: {"t": feed["s"] + feed["x"]},
    )
    stream = fake.stateful({"s": "t"})
    said = []

    def handler() -> None:
        for call in (lambda: stream.state, lambda: stream.run({"x": [1, 2]}), stream.reset):
            try:
                call()
            except UsageError as error:
                said.append(str(error))

    interrupted(lambda: stream.run({"x": [1, 2]}), handler)
    assert set(said) == {"this stream is in a call already: a stream is one call after another"}
    interrupted(stream.reset, handler)
    stream.reset()
    stream.run({"x": [1, 2]})
    assert stream.state["s"].tolist() == [1, 2]


def test_a_session_that_is_built_at_the_first_call(tmp_path: Path) -> None:
    opened = hotlap.open(tiny.save(tiny.add(), tmp_path / "m.onnx"), threads=1)
    runner = pickle.loads(pickle.dumps(opened))
    x = np.ones((1, 4), np.float32)
    answers = []
    interrupted(
        lambda: answers.append(runner(x)), lambda: answers.append(runner(x)), str(Path(OURS, "session.py"))
    )
    assert len(answers) > 10 and all(y.tolist() == [[2] * 4] for y in answers)


def test_the_first_call_of_a_thread_while_garbage_is_collected(tmp_path: Path) -> None:
    """In a process of its own, since Python itself hangs where the interpreter's lock is held meanwhile."""
    tiny.save(tiny.add(), tmp_path / "m.onnx")
    script = """
        import gc, threading
        import numpy as np
        import hotlap

        runner = hotlap.open("m.onnx", threads=1)

        def start_a_thread(phase, info):
            thread = threading.Thread(target=int)
            thread.start()
            thread.join()

        def first_call():
            gc.callbacks.append(start_a_thread)
            gc.set_threshold(1)
            runner(np.ones((1, 4), np.float32))
            gc.set_threshold(700)
            gc.callbacks.clear()

        for _ in range(3):
            thread = threading.Thread(target=first_call)
            thread.start()
            thread.join()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], cwd=tmp_path, capture_output=True, timeout=20
    )
    assert done.returncode == 0, done.stderr.decode()
