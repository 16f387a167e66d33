"""A Runner without a model: scripted answers, latency and failures, for tests of what stands on a Runner.

Needs no onnxruntime. It checks feeds as the real one does, so a test that passes with it has fed rightly.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from hotlap.errors import Cancelled, DeadlineExceeded
from hotlap.plan import Plan
from hotlap.runtime.arun import Workers
from hotlap.runtime.copies import Copies
from hotlap.runtime.face import Face
from hotlap.runtime.limits import Limits
from hotlap.tensors import TensorSpec

__all__ = ["FakeRunner"]

Feed = dict[str, Any]


class Clock(Protocol):
    def sleep(self, seconds: float, /) -> object: ...


class FakeRunner(Face):
    """The face of a Runner, scripted.

    Args:
        inputs, outputs: the signature to show.
        latency: seconds that a call takes: one number, one for each call in turn (the last one stays), or a
            function of the feed.
        failures: number of the call, from 0, to the exception that it raises after its latency.
        answer: a function of the feed that gives the outputs; left out, each output is zeros (or empty text)
            of its declared shape, symbols sized by the feed, 1 where it does not say.
        clock: whatever has ``sleep(seconds)``; a test passes its fake clock.
        plan: shown as `plan`.

    Attributes:
        calls: the feeds so far, in the order in which they came.
    """

    def __init__(
        self,
        inputs: Sequence[TensorSpec],
        outputs: Sequence[TensorSpec],
        *,
        latency: float | Sequence[float] | Callable[[Feed], float] = 0.0,
        failures: Mapping[int, Exception] | None = None,
        answer: Callable[[Feed], Mapping[str, Any]] | None = None,
        clock: Clock = time,
        plan: Plan | None = None,
    ) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.plan = plan or Plan()
        self.model_path = Path("fake.onnx")
        self.providers = ("fake",)
        self.placement = {"fake": 1}
        self.notes = ()
        self.threads = self.plan.threads or 1
        self.calls: list[Feed] = []
        self._names = [s.name for s in self.outputs]
        self._latency = latency
        self._failures = dict(failures or {})
        self._answer = answer or self._zeros
        self._clock = clock
        self._lock = threading.RLock()  # a signal handler or a finalizer may come while it is held
        self._open = True
        self._copies = Copies()
        self._workers = Workers(1, 256)

    def warm(self) -> None:
        """Nothing to warm; not counted as a call."""

    def close(self) -> None:
        self._open = False
        self._workers.close()

    def __repr__(self) -> str:
        return f"<FakeRunner {', '.join(s.name for s in self.inputs)} -> {', '.join(self._names)}>"

    def _call(self, names: list[str], arrays: Feed, limits: Limits) -> Mapping[str, Any]:
        if not self._open:
            raise self._closed()
        with self._lock:
            number = len(self.calls)
            self.calls.append(arrays)
        self._pass_time(self._seconds(number, arrays), limits)
        if number in self._failures:
            raise self._failures[number]
        results = self._answer(arrays)
        return {name: results[name] for name in self._names}

    def _pass_time(self, seconds: float, limits: Limits) -> None:
        """Sleeps; a deadline on the way ends the sleep, and so does, after it, a call that was taken back."""
        left = None if limits.end is None else max(0.0, limits.end - time.monotonic())
        self._clock.sleep(seconds if left is None else min(seconds, left))
        if limits.cancel is not None and limits.cancel.cancelled:
            raise Cancelled("the call was cancelled while it ran")
        if left is not None and seconds > left:
            raise DeadlineExceeded("the deadline passed while the model ran")

    def _seconds(self, number: int, feed: Feed) -> float:
        if callable(self._latency):
            return self._latency(feed)
        if isinstance(self._latency, int | float):
            return float(self._latency)
        return float(self._latency[min(number, len(self._latency) - 1)])

    def _zeros(self, feed: Feed) -> dict[str, Any]:
        sizes = {d: n for s in self.inputs for d, n in zip(s.shape, feed[s.name].shape, strict=True)}

        def zeros(spec: TensorSpec) -> Any:
            shape = tuple(d if isinstance(d, int) else sizes.get(d, 1) for d in spec.shape)
            kind = None if spec.dtype is None else spec.dtype.numpy
            if kind is None:
                return None
            return np.full(shape, "", object) if kind.kind == "O" else np.zeros(shape, kind)

        return {spec.name: zeros(spec) for spec in self.outputs}
