"""What a server counts of a model: `Statistics`. Plain numbers, counted on the event loop's thread alone."""

from __future__ import annotations

import time
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING

import numpy as np

from hotlap.errors import Cancelled, DeadlineExceeded, InputError, NotReady, Overloaded
from hotlap.serve.spread import BOUNDS, Spread, Total
from hotlap.serve.status import Refused

if TYPE_CHECKING:
    from hotlap.serve.batch import Call
    from hotlap.serve.job import Job, Timeline

__all__ = ["BOUNDS", "OUTCOMES", "Calls", "Spread", "Statistics", "Total", "outcome_of"]

OUTCOMES: dict[str, str] = {
    "ok": "answered",
    "invalid": "the request does not fit the model, or asks for what is not there",
    "refused": "the queue was full, or the server not ready or about to stop",
    "late": "its deadline passed",
    "dropped": "its client went away, or took it back",
    "failed": "the model failed on it",
}
"""How a request can end, and when that is so."""

_TIMES = Struct("=5q")
"""What is noted of an answered request: when it arrived, was decoded, started, computed and finished."""
_NOTED = 256
"""Answered requests that are noted before they are counted together. One by one that takes 1.1 µs each, so
0.3; whoever comes last waits 15 µs longer for its answer."""

_MOST_SIZES = 64
"""Numbers of rows that are counted apart. Clients choose them, so there could be any number of them."""


def outcome_of(error: BaseException | None) -> str:
    """The key of `OUTCOMES` for what ended a request; None: nothing went wrong."""
    if error is None:
        return "ok"
    if isinstance(error, InputError | Refused):
        return "invalid"
    if isinstance(error, Overloaded | NotReady):
        return "refused"
    if isinstance(error, DeadlineExceeded):
        return "late"
    return "dropped" if isinstance(error, Cancelled) else "failed"


@dataclass(slots=True)
class Calls:
    """Calls of the model with so many rows.

    Attributes:
        jobs: requests that took part in them.
        count, ns: calls, and the nanoseconds that they took.
    """

    jobs: int = 0
    count: int = 0
    ns: int = 0


class Statistics:
    """Counters of one model since the start. Times in ns.

    A request takes from its last byte that arrives to its answer that is ready for the socket: `parse`, then
    `queue`, then `compute`, then `encode`. Those four count answered requests alone. Each request for the
    model is counted once: by `answered`, by `observe`, or, where it never became a job or its answer could
    not be told, by `refused`.

    Attributes:
        inference_count: rows that were computed; a request without an axis of rows counts as one.
        execution_count: calls of the model that succeeded.
        calls: number of rows to the calls with so many; only the first 64 different numbers.
    """

    def __init__(self) -> None:
        self.inference_count = 0
        self.execution_count = 0
        self.calls: dict[int, Calls] = {}
        self._requests = {outcome: Spread() for outcome in OUTCOMES}
        self._parse, self._queue, self._compute, self._encode = Total(), Spread(), Spread(), Total()
        self._last_inference = 0
        self._noted = bytearray(_NOTED * _TIMES.size)
        self._end = 0  # of what is noted and not counted yet

    # ── read ──────────────────────────────────────────────────────────────────────────────────────────

    @property
    def requests(self) -> dict[str, Spread]:
        """Outcome, a key of `OUTCOMES`, to the times of requests that ended so."""
        self._count()
        return self._requests

    @property
    def parse(self) -> Total:
        """Reading the tensors."""
        self._count()
        return self._parse

    @property
    def queue(self) -> Spread:
        """Waiting for a lane."""
        self._count()
        return self._queue

    @property
    def compute(self) -> Spread:
        """The call of the model that it took part in, gathering its rows and slicing them included."""
        self._count()
        return self._compute

    @property
    def encode(self) -> Total:
        """Making the answer."""
        self._count()
        return self._encode

    @property
    def last_inference(self) -> int:
        """When the last request was answered, ms since 1970; 0: never."""
        self._count()
        return self._last_inference

    # ── counted ───────────────────────────────────────────────────────────────────────────────────────

    def executed(self, call: Call) -> None:
        """A lane has taken up a call: the model ran once for all of its jobs, or once for each."""
        ns = call.computed - call.started
        if call.together:
            self._ran(sum(map(_rows, call.jobs)), ns, len(call.jobs))
            return
        for job, outcome in zip(call.jobs, call.outcomes, strict=True):
            if not isinstance(outcome, BaseException):
                self._ran(_rows(job), ns // len(call.jobs), 1)

    def alone(self, job: Job) -> None:
        """The model ran for this job alone."""
        self._ran(_rows(job), job.timeline.computed - job.timeline.started, 1)

    def observe(self, job: Job) -> None:
        """A job is over. One that has outputs counts when its answer is encoded: `answered`."""
        if job.dropped:
            self.refused(Cancelled("the client has gone"), job.timeline.arrived)
        elif job.error is not None:
            self.refused(job.error, job.timeline.arrived)

    def answered(self, timeline: Timeline, finished: int) -> None:
        """The answer of a job is encoded.

        Args:
            finished: when, `time.perf_counter_ns`.
        """
        _TIMES.pack_into(
            self._noted,
            self._end,
            timeline.arrived,
            timeline.decoded,
            timeline.started,
            timeline.computed,
            finished,
        )
        self._end += _TIMES.size
        if self._end == len(self._noted):
            self._count()

    def refused(self, error: BaseException, arrived: int) -> None:
        """A request for this model ends without an answer.

        Args:
            error: why; `Cancelled` where its client has gone.
            arrived: when its last byte was read, `time.perf_counter_ns`.
        """
        self._requests[outcome_of(error)].add(time.perf_counter_ns() - arrived)

    def _count(self) -> None:
        """Counts what is noted."""
        if not self._end:
            return
        times = np.frombuffer(self._noted, np.int64, self._end // 8).reshape(-1, 5)
        arrived, decoded, started, computed, finished = times.T
        self._requests["ok"].add_all(finished - arrived)
        self._parse.add_all(decoded - arrived)
        self._queue.add_all(started - decoded)
        self._compute.add_all(computed - started)
        self._encode.add_all(finished - computed)
        ago = time.perf_counter_ns() - int(finished[-1])
        self._last_inference = (time.time_ns() - ago) // 1_000_000
        self._end = 0

    def _ran(self, rows: int, ns: int, jobs: int) -> None:
        self.execution_count += 1
        self.inference_count += rows
        calls = self.calls.get(rows)
        if calls is None:
            if len(self.calls) >= _MOST_SIZES:
                return
            calls = self.calls[rows] = Calls()
        calls.jobs += jobs
        calls.count += 1
        calls.ns += ns


def _rows(job: Job) -> int:
    """Of a job that a lane ran alone the engine may not have counted them."""
    if job.rows:
        return job.rows
    for name, axis in job.model.facts.axes.items():
        array = job.request.feed.get(name)
        if array is not None and axis < array.ndim:  # a model of any rank takes a scalar as well
            rows: int = array.shape[axis]
            return rows
    return 1
