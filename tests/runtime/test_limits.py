from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest

import hotlap
from hotlap.errors import Cancelled, DeadlineExceeded, InputError, Overloaded, UsageError
from hotlap.runtime import Cancel, FakeRunner, Runner, limits
from hotlap.runtime.limits import NONE, Limits, Watched
from hotlap.tensors import TensorSpec
from tests import tiny
from tests.runtime.slow import FOREVER, SHORT, X, loop


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return hotlap.open(loop(tmp_path), threads=1)


def test_a_call_that_takes_too_long_is_stopped_and_the_next_one_is_not(runner: Runner) -> None:
    for _ in range(3):
        with pytest.raises(DeadlineExceeded, match="passed while the model ran"):
            runner.run({"x": X, "n": FOREVER}, deadline=0.05)
        assert runner.run({"x": X, "n": SHORT})["total"].tolist() == [3] * 4
        assert runner.run({"x": X, "n": SHORT}, deadline=60)["total"].tolist() == [3] * 4


def test_no_time_left_is_said_before_the_model_runs(runner: Runner) -> None:
    for none in (0, -1.0):
        with pytest.raises(DeadlineExceeded, match="had passed before the model ran"):
            runner.run({"x": X, "n": FOREVER}, deadline=none)


def test_a_call_is_taken_back_from_another_thread(runner: Runner) -> None:
    cancel = Cancel()
    threading.Timer(0.05, cancel.cancel).start()
    with pytest.raises(Cancelled, match="while it ran"):
        runner.run({"x": X, "n": FOREVER}, cancel=cancel)
    assert cancel.cancelled
    with pytest.raises(Cancelled, match="before it ran"):
        runner.run({"x": X, "n": SHORT}, cancel=cancel)
    assert runner.run({"x": X, "n": SHORT}, cancel=Cancel())["total"].tolist() == [3] * 4


def test_one_cancel_stops_many_calls(runner: Runner) -> None:
    cancel, stopped = Cancel(), []

    def work() -> None:
        try:
            runner.run({"x": X, "n": FOREVER}, cancel=cancel)
        except Cancelled:
            stopped.append(1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    cancel.cancel()
    cancel.cancel()
    for thread in threads:
        thread.join(10)
    assert stopped == [1, 1, 1]


@pytest.mark.thread_unsafe(reason="on few cores, twelve models at once blur gaps of 0.25 s")
def test_the_earliest_of_several_deadlines_comes_first(runner: Runner) -> None:
    order: list[str] = []

    def work(name: str, deadline: float) -> None:
        with pytest.raises(DeadlineExceeded):
            runner.run({"x": X, "n": FOREVER}, deadline=deadline)
        order.append(name)

    threads = [threading.Thread(target=work, args=a) for a in (("late", 0.6), ("early", 0.05), ("mid", 0.3))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert order == ["early", "mid", "late"]


def test_limits_hold_for_borrow_and_out_too(runner: Runner) -> None:
    feed = {"x": X, "n": FOREVER}
    with pytest.raises(DeadlineExceeded):
        runner.borrow(feed, deadline=0.05)
    with pytest.raises(DeadlineExceeded):
        runner.run(feed, out={"total": np.zeros(4, np.float32)}, deadline=0.05)


def test_a_log_id_turns_up_in_the_log_and_only_for_its_call(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    runner = hotlap.open(tiny.save(tiny.gather_mask(rows=10), tmp_path / "m.onnx"), threads=1)
    good = {"ids": np.zeros((1, 4), np.int64), "mask": np.ones((1, 4), np.int64)}
    bad = {**good, "ids": np.full((1, 4), 99)}
    capfd.readouterr()
    for _ in range(3):
        runner.run(good, log_id="request-7", severity=3)
        assert capfd.readouterr().err == ""
        with pytest.raises(InputError):
            runner.run(bad, log_id="request-7", severity=3)
        said = capfd.readouterr().err
        assert ":request-7, " in said and "out of data bounds" in said
        with pytest.raises(InputError):
            runner.run(bad)
        assert capfd.readouterr().err == ""
    with pytest.raises(UsageError, match=r"severity 7: 0 \(verbose\)"):
        runner.run(good, severity=7)


def test_a_fake_keeps_deadlines_on_its_own_clock() -> None:
    class Clock:
        slept = 0.0

        def sleep(self, seconds: float) -> None:
            self.slept += seconds

    x = TensorSpec.of("x", "float32", [2])
    clock = Clock()
    fake = FakeRunner([x], [x], latency=5.0, clock=clock)
    with pytest.raises(DeadlineExceeded, match="passed while"):
        fake.run({"x": [1, 2]}, deadline=1.0)
    assert clock.slept == pytest.approx(1.0, abs=0.1)
    fake.run({"x": [1, 2]}, deadline=6.0)
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(Cancelled):
        fake.run({"x": [1, 2]}, cancel=cancel)


def test_a_fake_that_is_taken_back_while_it_sleeps() -> None:
    cancel = Cancel()

    class Clock:
        def sleep(self, seconds: float) -> None:
            cancel.cancel()

    x = TensorSpec.of("x", "float32", [2])
    fake = FakeRunner([x], [x], latency=1.0, clock=Clock())
    with pytest.raises(Cancelled, match="while it ran"):
        fake.run({"x": [1, 2]}, cancel=cancel)


def test_what_was_watched_is_forgotten_after_the_block() -> None:
    stopped: list[int] = []
    cancel = Cancel()
    limits = Limits(time.monotonic() + 0.03, cancel)
    with Watched(limits, lambda: stopped.append(1)) as watched:
        pass
    time.sleep(0.1)
    cancel.cancel()
    assert (stopped, watched.why) == ([], None)
    assert not NONE.stops and limits.stops


def test_the_first_reason_stays() -> None:
    cancel = Cancel()
    with Watched(Limits(time.monotonic() + 0.02, cancel), lambda: None) as watched:
        time.sleep(0.2)
        cancel.cancel()
    assert isinstance(watched.why, DeadlineExceeded)


@pytest.mark.thread_unsafe(reason="all deadlines of the process are on one heap")
def test_calls_that_finished_do_not_wait_for_their_deadlines() -> None:
    with Watched(Limits(end=time.monotonic() + 3600), lambda: None):
        for _ in range(5000):
            with Watched(Limits(end=time.monotonic() + 3600), lambda: None):
                pass
        assert len(limits._tickets) < 500
        late = threading.Event()
        with Watched(Limits(end=time.monotonic() + 0.01), late.set):
            assert late.wait(10)


@pytest.mark.thread_unsafe(reason="it replaces the thread that watches")
def test_deadlines_hold_after_their_thread_could_not_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(threading.Thread):
        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    cancel = Cancel()
    with monkeypatch.context() as patch:
        patch.setattr(limits, "_watcher", None)
        patch.setattr(limits.threading, "Thread", Full)
        with (
            pytest.raises(Overloaded, match="can't start new thread"),
            Watched(Limits(time.monotonic() + 3600, cancel), lambda: None),
        ):
            pass
        assert cancel._running == {} and limits._watcher is None
    late = threading.Event()
    with Watched(Limits(end=time.monotonic() + 0.01), late.set):
        assert late.wait(10)


def test_a_wrong_out_is_explained_within_the_limits(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Limits] = []

    def call(names: list[str], arrays: dict[str, np.ndarray], limits: Limits) -> dict[str, np.ndarray]:
        seen.append(limits)
        return {"total": np.zeros(4, np.float32)}

    monkeypatch.setattr(runner, "_call", call)
    with pytest.raises(InputError, match=r"got shape \[5\], the model gives \[4\]"):
        runner.run({"x": X, "n": SHORT}, out={"total": np.zeros(5, np.float32)}, deadline=60, cancel=Cancel())
    assert seen and seen[0].stops
