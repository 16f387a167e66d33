"""What a signal handler raises in a call is its caller's, and one failure of a bound run is no habit."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hotlap
from hotlap.errors import InputError
from hotlap.runtime import Runner
from hotlap.runtime.live import MOST_FAILURES
from tests import tiny
from tests.runtime.slow import X, loop

LONG = np.array(50_000)  # turns; some ten times as long as the alarm takes to come
FEED = {"x": X, "n": LONG}


class Late(Exception):
    """As an application's own alarm raises it."""


class TooLate(RuntimeError):
    """A class that an application made of one that ORT raises as well."""


@pytest.fixture(params=[Late, TooLate, RuntimeError])
def late(request: pytest.FixtureRequest) -> type[Exception]:
    kind: type[Exception] = request.param
    return kind


@pytest.fixture
def alarm(late: type[Exception]) -> Iterator[Callable[[], None]]:
    """Sets an alarm that raises it; Python hears it as soon as ORT returns."""

    def ring(*_: Any) -> None:
        raise late

    def set_alarm(seconds: float) -> None:
        signal.setitimer(signal.ITIMER_REAL, seconds)

    before = signal.signal(signal.SIGALRM, ring)
    yield lambda: set_alarm(0.002)
    set_alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def looping(tmp_path: Path) -> Runner:
    runner = hotlap.open(loop(tmp_path), threads=1)
    for _ in range(3):
        runner.run({"x": X, "n": np.array(3)})
        with runner.borrow({"x": X, "n": np.array(3)}):
            pass
    return runner


def binds(runner: Runner) -> bool:
    return runner._live is not None and runner._live._quick


@pytest.mark.thread_unsafe(reason="signals come to the main thread alone")
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no alarm")
@pytest.mark.parametrize("how", ["run", "borrow", "step", "some outputs"])
def test_what_a_signal_handler_raises_comes_out(
    looping: Runner,
    late: type[Exception],
    alarm: Callable[[], None],
    how: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    step = looping.step({"x": (4,), "n": ()})
    step.inputs["n"][...] = LONG
    calls: dict[str, Callable[[], Any]] = {
        "run": lambda: looping.run(FEED),
        "borrow": lambda: looping.borrow(FEED),
        "step": step,
        "some outputs": lambda: looping.run(FEED, ["total"]),
    }
    again: list[Any] = []
    monkeypatch.setattr(looping, "_again_plainly", lambda *args: again.append(args))
    with pytest.raises(late):
        alarm()
        calls[how]()
    assert again == [] and binds(looping)
    assert looping.run({"x": X, "n": np.array(3)})["total"].tolist() == [3] * 4


@pytest.fixture
def add(tmp_path: Path) -> Runner:
    runner = hotlap.open(tiny.save(tiny.add(), tmp_path / "m.onnx"), threads=1)
    for _ in range(3):
        runner(np.ones((1, 4), np.float32))
    return runner


def fail_once(runner: Runner, error: Exception) -> None:
    """The next bound run of this thread fails; the plain one does not."""

    def fails(feed: Any, options: Any = None) -> Any:
        live.local.fast = good
        raise error

    live = runner._alive()
    good, live.local.fast = live.local.fast, fails
    assert runner(np.ones((1, 4), np.float32)).tolist() == [[2] * 4]


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("std::bad_alloc")])
def test_too_little_memory_says_nothing_about_the_model(add: Runner, error: Exception) -> None:
    for _ in range(2 * MOST_FAILURES):
        fail_once(add, error)
        add(np.ones((1, 4), np.float32))  # binds anew
        assert binds(add)


@pytest.mark.thread_unsafe(reason="one failure in each of several threads is several failures in a row")
def test_a_failure_now_and_then_is_no_reason_to_bind_no_more(add: Runner) -> None:
    for _ in range(2 * MOST_FAILURES):
        fail_once(add, RuntimeError("now and then"))
        for _ in range(3):
            add(np.ones((1, 4), np.float32))
        assert binds(add)


def test_a_model_that_always_fails_when_bound_is_run_without(
    add: Runner, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(feed: Any, options: Any = None) -> Any:
        raise RuntimeError("bound")

    monkeypatch.setattr("hotlap.runtime.live.bind", lambda *args, **kwargs: fails)
    for _ in range(4 * MOST_FAILURES):
        assert add(np.ones((2, 4), np.float32)).tolist() == [[2] * 4] * 2
    assert not binds(add) and caplog.text.count("nothing is bound any more") == 1


def test_what_the_model_refuses_is_still_told(tmp_path: Path) -> None:
    runner = hotlap.open(tiny.save(tiny.gather_mask(rows=10), tmp_path / "m.onnx"), threads=1)
    feed = {"ids": np.zeros((1, 4), np.int64), "mask": np.ones((1, 4), np.int64)}
    for _ in range(3):
        runner.run(feed)
    for _ in range(2 * MOST_FAILURES):
        with pytest.raises(InputError):
            runner.run({**feed, "ids": np.full((1, 4), 99)})
    assert binds(runner)
