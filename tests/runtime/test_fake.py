from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from hotlap.errors import ProviderUnavailable
from hotlap.runtime import FakeRunner
from hotlap.tensors import TensorSpec

X = TensorSpec.of("x", "float32", ["N", 4])
ROW = np.ones((1, 4), np.float32)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_it_answers_zeros_of_the_declared_shape() -> None:
    outputs = [TensorSpec.of("y", "int64", ["N", "k"]), TensorSpec.of("t", "string", ["N"])]
    result = FakeRunner([X], outputs).run({"x": np.ones((3, 4), np.float32)})
    assert (result["y"].dtype, result["y"].tolist()) == (np.int64, [[0], [0], [0]])
    assert result["t"].tolist() == ["", "", ""]


def test_latency_is_scripted_call_by_call_and_the_last_stays() -> None:
    clock = Clock()
    runner = FakeRunner([X], [X], latency=[1.0, 0.5], clock=clock)
    times = []
    for _ in range(3):
        runner(ROW)
        times.append(clock.now)
    assert times == [1.0, 1.5, 2.0]


def test_latency_can_follow_the_feed() -> None:
    clock = Clock()
    runner = FakeRunner([X], [X], latency=lambda feed: 0.1 * len(feed["x"]), clock=clock)
    runner(np.ones((5, 4), np.float32))
    assert clock.now == pytest.approx(0.5)


def test_failures_come_at_their_call() -> None:
    runner = FakeRunner([X], [X], failures={1: ProviderUnavailable("gone")})
    runner(ROW)
    with pytest.raises(ProviderUnavailable, match="gone"):
        runner(ROW)
    runner(ROW)
    assert len(runner.calls) == 3


def test_warming_is_no_call() -> None:
    runner = FakeRunner([X], [X])
    runner.warm()
    assert runner.calls == []


def test_it_needs_no_onnxruntime() -> None:
    script = (
        "import sys; sys.modules['onnxruntime'] = None\n"
        "from hotlap import FakeRunner, TensorSpec\n"
        "x = TensorSpec.of('x', 'float32', [2])\n"
        "print(FakeRunner([x], [x])([1, 2]).tolist())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[0.0, 0.0]\n"
