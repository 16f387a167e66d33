"""What a server counts of a model: `Statistics`. Plain numbers, counted on the event loop's thread alone."""

from __future__ import annotations

import time
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hotlap.errors import Cancelled, DeadlineExceeded, InputError, NotReady, Overloaded
from hotlap.serve.status import Refused

if TYPE_CHECKING:
    from hotlap.serve.batch import Call
    from hotlap.serve.job import Job, Timeline

__all__ = ["BOUNDS", "OUTCOMES", "Calls", "Spread", "Statistics", "Total", "outcome_of"]

_DECADES = (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
BOUNDS: tuple[int, ...] = (*(n * decade for decade in _DECADES for n in (1, 2, 5)), 10_000_000_000)
"""Upper bounds of the histograms' buckets, ns: 10 µs to 10 s, three to a decade."""

OUTCOMES: dict[str, str] = {
    "ok": "answered",
    "invalid": "the request does not fit the model, or asks for what is not there",
    "refused": "the queue was full, or the server not ready or about to stop",
    "late": "its deadline passed",
    "dropped": "its client went away, or took it back",
    "failed": "the model failed on it",
}
"""How a request can end, and when that is so."""

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
class Total:
    """How often something was done, and the nanoseconds of all times together."""

    count: int = 0
    ns: int = 0

    def add(self, ns: int) -> None:
        self.count += 1
        self.ns += ns


@dataclass(slots=True)
class Spread:
    """The same as a histogram.

    Attributes:
        counts: for each of `BOUNDS` those at most so long and longer than the one before; the last: longer
            than all bounds.
        ns: all together.
    """

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    ns: int = 0

    def add(self, ns: int) -> None:
        self.counts[bisect_left(BOUNDS, ns)] += 1
        self.ns += ns

    @property
    def count(self) -> int:
        return sum(self.counts)


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


@dataclass(slots=True)
class Statistics:
    """Counters of one model since the start. Times in ns.

    A request takes from its last byte that arrives to its answer that is ready for the socket: `parse`, then
    `queue`, then `compute`, then `encode`. Those four count answered requests alone. Each request for the
    model is counted once: by `answered`, by `observe`, or, where it never became a job or its answer could
    not be told, by `refused`.

    Attributes:
        requests: outcome, a key of `OUTCOMES`, to the times of requests that ended so.
        parse: reading the tensors.
        queue: waiting for a lane.
        compute: the call of the model that it took part in, gathering its rows and slicing them included.
        encode: making the answer.
        inference_count: rows that were computed; a request without an axis of rows counts as one.
        execution_count: calls of the model that succeeded.
        calls: number of rows to the calls with so many; only the first 64 different numbers.
        last_inference: when the last request was answered, ms since 1970; 0: never.
    """

    requests: dict[str, Spread] = field(default_factory=lambda: {o: Spread() for o in OUTCOMES})
    parse: Total = field(default_factory=Total)
    queue: Spread = field(default_factory=Spread)
    compute: Spread = field(default_factory=Spread)
    encode: Total = field(default_factory=Total)
    inference_count: int = 0
    execution_count: int = 0
    calls: dict[int, Calls] = field(default_factory=dict)
    last_inference: int = 0

    def executed(self, call: Call) -> None:
        """A lane has taken up a call: the model ran once for all of its jobs, or once for each."""
        ns = call.computed - call.started
        if call.together:
            self._ran(sum(map(_rows, call.jobs)), ns, len(call.jobs))
            return
        for job, outcome in zip(call.jobs, call.outcomes, strict=True):
            if not isinstance(outcome, BaseException):
                self._ran(_rows(job), ns // len(call.jobs), 1)

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
        arrived, decoded = timeline.arrived, timeline.decoded
        started, computed = timeline.started, timeline.computed
        self.requests["ok"].add(finished - arrived)
        self.parse.add(decoded - arrived)
        self.queue.add(started - decoded)
        self.compute.add(computed - started)
        self.encode.add(finished - computed)
        self.last_inference = time.time_ns() // 1_000_000

    def refused(self, error: BaseException, arrived: int) -> None:
        """A request for this model ends without an answer.

        Args:
            error: why; `Cancelled` where its client has gone.
            arrived: when its last byte was read, `time.perf_counter_ns`.
        """
        self.requests[outcome_of(error)].add(time.perf_counter_ns() - arrived)

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
