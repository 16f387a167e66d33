"""Running a model to see what it does: each try is remembered, and none begun that would take too long."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic, perf_counter
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hotlap.errors import DeadlineExceeded, InputError, ModelError, Unavailable
from hotlap.runtime.face import Face
from hotlap.tensors import TensorSpec

__all__ = ["FIRST", "TIME_UP", "Array", "Feed", "OutOfTime", "Runs", "Shapes", "Tries", "first_run"]

Array = npt.NDArray[Any]
Feed = dict[str, Array]
Shapes = tuple[tuple[int, ...] | None, ...]

FIRST = 60.0
"""Seconds after which a first run counts as endless."""
TIME_UP = "time was up"
"""How the reason begins where more time would have told more."""
_LONGEST = 300
"""Letters of what is kept of a refusal."""
_SHORTEST = 0.01


class Runs(Protocol):
    """What can be probed: a `Runner`, or anything that runs a feed and says what it takes and gives."""

    @property
    def inputs(self) -> Sequence[TensorSpec]: ...
    @property
    def outputs(self) -> Sequence[TensorSpec]: ...
    @property
    def run(self) -> Callable[..., Mapping[str, Any]]: ...


class OutOfTime(Exception):
    """The next try would take longer than there is time."""


def first_run(runner: Runs) -> Callable[[Feed], Mapping[str, Any]]:
    """Runs a feed of which nobody knows whether the model comes to an end with it.

    Raises:
        DeadlineExceeded: it did not, within `FIRST` seconds; only of a `Runner`, which can be stopped.
    """

    def run(feed: Feed) -> Mapping[str, Any]:
        if not isinstance(runner, Face):
            return runner.run(feed)
        try:
            return runner.run(feed, deadline=FIRST)
        except DeadlineExceeded as error:
            raise DeadlineExceeded(f"its first run did not end within {FIRST:.3g} s") from error

    return run


class Tries:
    """A model under probing.

    Args:
        runner: what runs it.
        seconds: for all tries together.

    Attributes:
        seen: the shapes of each try that ran: (of the inputs, of the outputs; None for what is no tensor).
    """

    def __init__(self, runner: Runs, seconds: float) -> None:
        self._runner = runner
        self._end = monotonic() + seconds
        self._per_byte = 0.0
        self._stoppable = isinstance(runner, Face)
        self.inputs = tuple(runner.inputs)
        self.outputs = tuple(runner.outputs)
        self.seen: list[tuple[Shapes, Shapes]] = []

    @property
    def left(self) -> float:
        """Seconds until time is up; negative afterwards."""
        return self._end - monotonic()

    def cost(self, feed: Feed) -> float:
        """Seconds that a run will take, judged by the bytes that go in and by what a byte took so far."""
        return self._per_byte * _size(feed)

    def run(self, feed: Feed) -> tuple[dict[str, Any], str]:
        """The answers, and ""; or none, and why the model does not take the feed, in one line.

        Raises:
            OutOfTime: it was not run.
            DeadlineExceeded: the very first run did not end.
        """
        if self.seen and self.left < self.cost(feed):
            raise OutOfTime
        begun = perf_counter()
        try:
            answers = dict(self._call(feed))
        except DeadlineExceeded as error:
            if not self.seen:
                raise
            raise OutOfTime from error
        except (InputError, ModelError, Unavailable) as error:
            return {}, " ".join(str(error).split())[:_LONGEST]
        self._per_byte = (perf_counter() - begun) / max(1, _size(feed))
        shapes = (_shapes(self.inputs, feed), _shapes(self.outputs, answers))
        if shapes not in self.seen:
            self.seen.append(shapes)
        return answers, ""

    def _call(self, feed: Feed) -> Mapping[str, Any]:
        if not self.seen:
            return first_run(self._runner)(feed)
        if self._stoppable:
            # A loop in the model may never end on the rows that probing makes.
            return self._runner.run(feed, deadline=max(self.left, _SHORTEST))
        return self._runner.run(feed)

    def seconds(self, feed: Feed, times: int) -> float:
        """The median of that many calls, in seconds.

        Raises:
            OutOfTime: not one of them was run.
        """
        took: list[float] = []
        while len(took) < times and (not took or self.left > took[-1]):
            if self.left < self.cost(feed):
                raise OutOfTime
            begun = perf_counter()
            self._runner.run(feed)
            took.append(perf_counter() - begun)
        return float(np.median(took))


def _size(feed: Feed) -> int:
    return sum(a.nbytes for a in feed.values())


def _shapes(specs: Sequence[TensorSpec], arrays: Mapping[str, Any]) -> Shapes:
    return tuple(getattr(arrays.get(s.name), "shape", None) for s in specs)
