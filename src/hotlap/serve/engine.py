"""From accepted jobs to their answers: `Engine`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable, Iterable
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter, perf_counter_ns

from hotlap.errors import DeadlineExceeded, Draining, UsageError
from hotlap.serve.batch import Call, Outcome
from hotlap.serve.gate import Gate
from hotlap.serve.hop import round_trip
from hotlap.serve.job import Job
from hotlap.serve.served import Served
from hotlap.serve.track import Load, Track

__all__ = ["Engine"]

log = logging.getLogger("hotlap.serve")

_EARLY = 0.001
"""Seconds. uvloop's timers have so coarse a grain, and fire up to one early."""


class Engine:
    """Runs the jobs of some models. Everything here is for the event loop's thread alone.

    Of an accepted job `job.done` is called once, with its outputs or its error, unless it is dropped before.

    Attributes:
        models: by name.
        holding: what it tells of the jobs of one call it tells in this context: whoever sends the answers may
            send them together.
    """

    def __init__(self, models: Iterable[Served]) -> None:
        self.holding: Callable[[], AbstractContextManager[None]] = nullcontext
        self.models: dict[str, Served] = {}
        for model in models:
            if model.name in self.models:
                raise UsageError(f'two models are named "{model.name}": give one another name (NAME=FILE)')
            self.models[model.name] = model
        self._gate = Gate()
        self._tracks = {model: Track(model, self._settled) for model in self.models.values()}
        self._loop: asyncio.AbstractEventLoop | None = None

    # ── life ──────────────────────────────────────────────────────────────────────────────────────────

    async def start(self) -> None:
        """Warms every model; each is ready when it has been warmed.

        Raises:
            PlanError: a shape that a plan lists does not fit its model.
            Whatever running a model raises.
        """
        self._loop = asyncio.get_running_loop()
        hop = await round_trip()
        for track in self._tracks.values():  # one after the other: they would disturb each other's measuring
            await track.start(hop)

    async def drain(self, seconds: float) -> int:
        """Accepts no more jobs, and waits until those that were accepted are over.

        Args:
            seconds: that it waits; what is not over then fails with Draining, and its call is stopped.

        Returns:
            How many failed so.
        """
        left = await self._gate.drain(seconds)
        for job in left:
            self._end(job, Draining("the server stopped before the answer was there: ask another one"))
        if left:
            log.warning("%d accepted requests were not answered within %g s", len(left), seconds)
        return len(left)

    async def close(self, seconds: float = 5.0) -> None:
        """Ends the lanes and lets go of the models; what is not over fails. Twice is fine.

        Args:
            seconds: that each model's calls may take to end.
        """
        await self.drain(0)
        tracks, self._tracks = self._tracks, {}
        for track in tracks.values():
            await track.close(seconds)

    @property
    def ready(self) -> bool:
        """Every model is ready, and the server is not about to stop."""
        return not self._gate.draining and all(model.ready for model in self.models.values())

    @property
    def draining(self) -> bool:
        return self._gate.draining

    @property
    def inside(self) -> int:
        """Jobs that were accepted and are not over."""
        return len(self._gate.inside)

    def load(self, model: Served) -> Load:
        """What is going on at a model of this engine."""
        return self._tracks[model].load()

    # ── jobs ──────────────────────────────────────────────────────────────────────────────────────────

    def check(self, model: Served, nbytes: int) -> None:
        """Whether `submit` would refuse a job of so many bytes now: for refusing a request before it is read.

        Raises:
            Draining, NotReady: as `submit`.
            Overloaded: the queue is full.
        """
        self._gate.check(model)
        self._tracks[model].lanes.check(nbytes)

    def submit(self, job: Job) -> None:
        """Accepts a job. `job.done` is called when it is over, perhaps before this returns.

        Raises:
            Draining: the server is about to stop.
            NotReady: the model has not been warmed.
            Overloaded: the queue is full.
            DeadlineExceeded: the deadline has passed.
        """
        track = self._admit(job)
        if track.takes_inline(job):
            self._run_here(track, job, perf_counter_ns())
        else:
            self._queue(track, job)

    def submit_all(self, jobs: Iterable[Job]) -> None:
        """Accepts jobs that came together: the short ones among them share calls, where their rows may.
        `job.done` is called of those that are refused too."""
        groups: dict[tuple[Track, Hashable], list[Job]] = {}
        for job in jobs:
            try:
                track = self._admit(job)
                if not track.takes_inline(job):
                    self._queue(track, job)
                    continue
                job.rows, job.key = track.describe(job)
                if job.key is not None:
                    groups.setdefault((track, job.key), []).append(job)
                    continue
                self._run_here(track, job, perf_counter_ns())
            except Exception as error:  # noqa: BLE001  the job's error, and none of the others'
                if not job.over:
                    self._tell(job, error)
        for (track, _), mates in groups.items():
            self._run_together(track, mates)

    def drop(self, job: Job) -> None:
        """Forgets a job whose client left: it is not run, or its call is stopped where nobody else waits
        for it. Nothing happens to one that is over."""
        if not job.over:
            job.dropped = True
            self._end(job, None)

    # ── inside ────────────────────────────────────────────────────────────────────────────────────────

    def _admit(self, job: Job) -> Track:
        model = job.model
        self._gate.check(model)
        timeout = job.request.timeout or model.serve.timeout
        if job.deadline is None and timeout is not None:
            job.deadline = (job.timeline.arrived / 1e9 or perf_counter()) + timeout
        if job.deadline is not None and job.deadline <= perf_counter():
            raise DeadlineExceeded("the deadline had passed before the request was accepted")
        return self._tracks[model]

    def _run_here(self, track: Track, job: Job, started: int) -> None:
        # Over before anything else happens: nobody drops it meanwhile, and no drain needs to know of it.
        outcome = track.run_here(job, started)
        if not isinstance(outcome, BaseException):
            try:
                job.model.statistics.alone(job)
            except Exception:
                log.exception("%s: a call could not be counted", job.model.name)
        self._tell(job, outcome)

    def _run_together(self, track: Track, jobs: list[Job]) -> None:
        """Runs jobs of one key on the loop, as long as their calls stay short."""
        while jobs and track.takes_inline(jobs[0]):
            self._settled(track.served, track.run_together(jobs), [])
            jobs = self._in_time(jobs)
        for job in jobs:
            try:
                self._queue(track, job)
            except Exception as error:  # noqa: BLE001  the job's error, and none of the others'
                self._tell(job, error)

    def _in_time(self, jobs: list[Job]) -> list[Job]:
        """Those whose deadline has not passed; the others are over."""
        now = perf_counter()
        late = [job for job in jobs if job.deadline is not None and job.deadline <= now]
        for job in late:
            self._finish(job, _late())
        return [job for job in jobs if not job.over] if late else jobs

    def _queue(self, track: Track, job: Job) -> None:
        """Lets it wait for a lane."""
        serve, priority = job.model.serve, job.request.priority
        job.level = (priority if 0 < priority <= serve.priorities else serve.default_level) - 1
        track.put(job)
        self._gate.inside.add(job)
        if job.deadline is not None:
            self._set_timer(job)

    def _set_timer(self, job: Job) -> None:
        assert self._loop is not None and job.deadline is not None
        wait = max(job.deadline - perf_counter(), _EARLY)
        job.timer = self._loop.call_later(wait, self._time_is_up, job)

    def _time_is_up(self, job: Job) -> None:
        assert job.deadline is not None
        if perf_counter() < job.deadline:
            self._set_timer(job)
            return
        doing = "waited for its turn" if job.call is None else "ran"
        self._end(job, DeadlineExceeded(f"the deadline passed while the request {doing}"))

    def _end(self, job: Job, error: BaseException | None) -> None:
        """Before the model answered."""
        if job.over:
            return
        if job.model in self._tracks:
            self._tracks[job.model].lanes.remove(job)
        self._finish(job, error)
        if job.call is not None:
            job.call.give_up()

    def _settled(self, model: Served, call: Call | None, late: list[Job]) -> None:
        """A call was run; jobs were too late for one."""
        for job in late:
            self._finish(job, _late())
        if call is None:
            return
        try:
            model.statistics.executed(call)
        except Exception:  # whoever waits for an answer is not to miss it for a count
            log.exception("%s: a call could not be counted", model.name)
        if len(call.jobs) == 1:
            self._tell_all(call)
        else:
            with self.holding():
                self._tell_all(call)

    def _tell_all(self, call: Call) -> None:
        shared = len(call.jobs) if call.together else 1
        for job, outcome in zip(call.jobs, call.outcomes, strict=True):
            job.timeline.started, job.timeline.computed, job.batch = call.started, call.computed, shared
            self._finish(job, outcome)
            job.call = None  # else a job would hold itself, and its tensors, until the collector comes round

    def _finish(self, job: Job, outcome: Outcome | None) -> None:
        """Once for each job: whoever comes later finds it over."""
        if job.over:
            return
        if job.timer is not None:
            job.timer.cancel()
            job.timer = None
        self._gate.leave(job)
        self._tell(job, outcome)

    def _tell(self, job: Job, outcome: Outcome | None) -> None:
        job.over = True
        if isinstance(outcome, BaseException):
            job.error = outcome
        else:
            job.outputs = outcome
        try:
            job.model.statistics.observe(job)
        except Exception:  # whoever waits for an answer is not to miss it for a count
            log.exception("%s: a request could not be counted", job.model.name)
        if job.dropped:
            return
        try:
            job.done(job)
        except Exception:  # one job's end must not be in the way of the others'
            log.exception("%s: a request could not be finished", job.model.name)


def _late() -> DeadlineExceeded:
    return DeadlineExceeded("the deadline passed while the request waited for its turn")
