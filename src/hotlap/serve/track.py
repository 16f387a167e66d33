"""One model with its queue and its lanes: `Track`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from time import perf_counter_ns

from hotlap.cpus import usable_threads
from hotlap.runtime import Cancel
from hotlap.serve import warming
from hotlap.serve.batch import Call, Outcome, Runs
from hotlap.serve.inline import ALONE, Inline, longest
from hotlap.serve.job import Job
from hotlap.serve.lanes import Lanes
from hotlap.serve.pays import Pays
from hotlap.serve.rows import Rows
from hotlap.serve.scheduler import Scheduler, alone
from hotlap.serve.served import Served

__all__ = ["Load", "Track"]

log = logging.getLogger("hotlap.serve")

_WORTH_STOPPING = 1e-3
"""Seconds. That a call can be stopped costs 4 µs, and a shorter one is over before anyone has decided."""


@dataclass(frozen=True, slots=True)
class Load:
    """What is going on at a model.

    Attributes:
        waiting, nbytes: jobs that wait for a lane, and the bytes of their inputs.
        busy, lanes: lanes that run a call, and all of them.
        inline: short calls run on the event loop.
        batch: rows that share a call at most; 1: they do not.
    """

    waiting: int
    nbytes: int
    busy: int
    lanes: int
    inline: bool
    batch: int


class Track:
    """See the module. For the event loop's thread, but where it says otherwise.

    Args:
        settled: told of each call that was run, or of jobs that were too late, on the loop's thread.
    """

    def __init__(self, served: Served, settled: Callable[[Served, Call | None, list[Job]], None]) -> None:
        self.served = served
        self._tell = settled
        self._loop: asyncio.AbstractEventLoop | None = None
        serve, runner = served.serve, served.runner
        self._rows = Rows(served.facts, runner.inputs, runner.outputs)
        self._queue: Scheduler[Job] = Scheduler(
            requests=serve.queue_requests, nbytes=serve.queue_bytes, levels=serve.priorities
        )
        self.lanes = Lanes(served.name, self._queue, self._call, self._settled)
        self._here = Runs(runner, self._rows, self._torn)
        self._inline = Inline([s.name for s in runner.inputs], (), 0.0)
        self._pays = Pays()
        self._per_byte = 0.0  # seconds of a call for a byte of its inputs

    async def start(self, hop: float) -> None:
        """Starts the lanes, warms each, and measures.

        Args:
            hop: seconds from the loop to a thread and back.

        Raises:
            PlanError: a shape that the plan lists does not fit the model.
            Whatever running the model raises.
        """
        self._loop = asyncio.get_running_loop()
        served, serve = self.served, self.served.serve
        feeds: list[warming.Feed] = []
        timed: list[warming.Timed] = []
        curves = []

        def first() -> Callable[[Call], None]:
            feeds.extend(warming.feeds(served.runner))
            for feed in feeds:
                curve, times = warming.measure(served.runner, self._rows, feed, serve.max_batch)
                timed.extend(times)
                curves.extend([curve] if curve else [])
            return self._runs()

        def other() -> Callable[[Call], None]:
            warming.warm(served.runner, feeds)
            return self._runs()

        await asyncio.wrap_future(self.lanes.add(first))
        self._decide(hop, feeds, timed)
        self._pays = Pays(*curves)
        self._queue.pays = self._pays.rows if self._pays.most > 1 else alone
        short = serve.lanes is None and bool(timed) and timed[0].seconds < ALONE
        lanes = 1 if short else served.lanes
        await asyncio.gather(*(asyncio.wrap_future(self.lanes.add(other)) for _ in range(lanes - 1)))
        served.together = self._inline.together(shared=self._pays.most > 1)
        served.ready = True
        self._say(lanes, hop, timed)

    def takes_inline(self, job: Job) -> bool:
        return self._inline.takes(job)

    def run_here(self, job: Job, started: int) -> Outcome:
        """Runs a job at once, in this thread.

        Args:
            started: now, `time.perf_counter_ns`.
        """
        timeline = job.timeline
        timeline.started = started
        outcome = self._here.one(job)
        computed = timeline.computed = perf_counter_ns()
        self._took(computed - started)
        return outcome

    def describe(self, job: Job) -> tuple[int, Hashable]:
        """The job's rows and its key: `Job.rows`, `Job.key`."""
        return self._rows.describe(job) if self._pays.most > 1 else (0, None)

    def run_together(self, jobs: list[Job]) -> Call:
        """Runs in this thread as many jobs of one key as one call should run.

        Args:
            jobs: they are taken out of the list.
        """
        call = Call(self._next(jobs))
        self._here.run(call)
        if call.together or len(call.jobs) == 1:  # of a batch that failed each job had a call of its own
            self._took(call.computed - call.started)
        return call

    def put(self, job: Job) -> None:
        """Lets a job wait for a lane.

        Raises:
            Overloaded: the queue is full.
        """
        job.rows, job.key = self.describe(job)
        self.lanes.put(job)

    def load(self) -> Load:
        return Load(*self.lanes.waiting, *self.lanes.busy, bool(self._inline), self._pays.most)

    async def close(self, seconds: float) -> None:
        """Ends the lanes and lets go of the model; a lane that does not end in time is left to itself."""
        self.served.ready = False
        self.lanes.close()
        if await asyncio.to_thread(self.lanes.join, seconds):
            self.served.runner.close()
        else:
            log.warning("%s: a call did not end within %g s: it is left behind", self.served.name, seconds)

    # ── inside ────────────────────────────────────────────────────────────────────────────────────────

    def _next(self, jobs: list[Job]) -> list[Job]:
        """Takes out those that one call should run."""
        rows, nbytes = sum([j.rows for j in jobs]), sum([j.request.nbytes for j in jobs])
        # As many as were measured: so the runner sees few shapes, whatever comes.
        most = self._pays.rows(rows, nbytes, measured=True)
        count, filled = 1, jobs[0].rows
        while count < len(jobs) and filled + jobs[count].rows <= most:
            filled += jobs[count].rows
            count += 1
        taken = jobs[:count]
        del jobs[:count]
        return taken

    def _took(self, ns: int) -> None:
        if self._inline and not self._inline.took(ns / 1e9):
            self.served.together = 1
            log.warning("%s: calls on the event loop became slow: now they have lanes", self.served.name)

    def _runs(self) -> Callable[[Call], None]:
        return Runs(self.served.runner, self._rows, self._torn).run

    def _decide(self, hop: float, feeds: Sequence[warming.Feed], timed: Sequence[warming.Timed]) -> None:
        serve, runner = self.served.serve, self.served.runner
        short = 0.0 if self.served.loops else longest(hop, usable_threads())
        limit = {None: short, True: float("inf"), False: 0.0}[serve.inline]
        self._inline = Inline([s.name for s in runner.inputs], timed, limit)
        if self._inline:
            warming.warm(runner, feeds)  # the loop's thread has buffers of its own
        self._per_byte = max((t.seconds / max(1, t.nbytes) for t in timed), default=0.0)

    def _say(self, lanes: int, hop: float, timed: Sequence[warming.Timed]) -> None:
        took = f"{timed[0].seconds * 1e6:,.0f} µs a call" if timed else "not measured"
        name, hop, most = self.served.name, hop * 1e6, self._pays.most
        why = self._rows.why_not or "they would not pay"
        rows = f"up to {most} rows share a call" if most > 1 else f"no batches: {why}"
        if self._inline:
            log.info(
                "%s is ready: %s, the hop %.0f µs: calls run on the event loop; %s", name, took, hop, rows
            )
            return
        log.info("%s is ready: %s, the hop %.0f µs; lanes: %d; %s", name, took, hop, lanes, rows)

    def _call(self, jobs: list[Job]) -> Call:
        """In a lane."""
        seconds = self._per_byte * sum(job.nbytes for job in jobs)
        stoppable = self.served.loops or seconds >= _WORTH_STOPPING
        return Call(jobs, Cancel() if stoppable else None)

    def _torn(self, why: str) -> None:
        """In a lane: the model did not give a row for each row."""
        self._queue.pays = alone
        self._pays = Pays()
        self.served.together = self._inline.together(shared=False)
        log.warning("%s: %s: its requests share no call any more", self.served.name, why)

    def _settled(self, call: Call | None, late: list[Job]) -> bool:
        """In a lane."""
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(self._tell, self.served, call, late)
        except RuntimeError:  # the event loop was closed under it
            return False
        return True
