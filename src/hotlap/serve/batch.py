"""Running jobs: one alone, or several as rows of one call, whose answers are cut apart again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

import numpy as np

from hotlap.errors import HotlapError, InputError
from hotlap.runtime import Cancel, Face
from hotlap.serve.buffers import Buffers
from hotlap.serve.job import Job
from hotlap.serve.rows import Rows
from hotlap.tensors import nearest

__all__ = ["Call", "Outcome", "Runs"]

log = logging.getLogger("hotlap.serve")

Outcome = dict[str, Any] | BaseException
"""The wanted outputs of a job, or why there are none."""


@dataclass(eq=False, slots=True)
class Call:
    """Jobs that a lane took up together.

    Attributes:
        jobs: in the order in which they came.
        cancel: stops the call; None: it is too short to be worth it.
        outcomes: of each job, in their order.
        started, computed: `time.perf_counter_ns`.
        together: the outcomes come from one call of the model; else each job had one of its own.
    """

    jobs: list[Job]
    cancel: Cancel | None = None
    outcomes: Sequence[Outcome] = ()
    started: int = 0
    computed: int = 0
    together: bool = False

    def give_up(self) -> None:
        """Stops the call if nobody waits for it any more."""
        if self.cancel is not None and all(job.over for job in self.jobs):
            self.cancel.cancel()


class _Torn(HotlapError):
    """The rows that came out are not those that went in."""


class Runs:
    """Runs the calls of one thread.

    Args:
        runner: the model.
        rows: where its rows lie.
        torn: told why, when the model gave other rows than it was given: it must not be batched again.
    """

    def __init__(self, runner: Face, rows: Rows, torn: Callable[[str], None]) -> None:
        self._runner, self._rows, self._torn = runner, rows, torn
        self._names = [s.name for s in runner.outputs]
        self._known = frozenset(self._names)
        self._buffers = Buffers(runner)
        self._logs = _logs(runner)

    def run(self, call: Call) -> None:
        """Fills in the outcomes. Raises nothing: whatever goes wrong is the outcome of the job it hit."""
        call.started = perf_counter_ns()
        if len(call.jobs) > 1:
            try:
                call.outcomes, call.together = self._batch(call), True
            except _Torn as error:
                self._torn(str(error))
            except BaseException as error:  # noqa: BLE001  one job is to blame: it is found by running each
                log.debug("a batch of %d failed, each is run alone: %s", len(call.jobs), error)
        if not call.together:
            call.outcomes = [self.one(job, call.cancel) for job in call.jobs]
        call.computed = perf_counter_ns()

    def one(self, job: Job, cancel: Cancel | None = None) -> Outcome:
        """The outcome of one job in a call of its own."""
        try:
            request = job.request
            names = self._wanted(job)
            feed = request.feed
            if request.regions:
                feed = {**feed, **self._read(job)}
            if cancel is None and not self._logs:
                results = self._runner.run(feed)
            else:
                results = self._runner.run(feed, cancel=cancel, log_id=request.id or None)
            return results if names is self._names else {name: results[name] for name in names}
        except BaseException as error:  # noqa: BLE001  a thread of the server outlives whatever a runner raises
            return error

    # ── several ───────────────────────────────────────────────────────────────────────────────────────

    def _batch(self, call: Call) -> list[Outcome]:
        jobs, total = call.jobs, sum(job.rows for job in call.jobs)
        wanted = [self._wanted(job) for job in jobs]
        feed = {spec.name: self._gathered(spec.name, jobs, total) for spec in self._runner.inputs}
        results = self._runner.run(feed, cancel=call.cancel)
        for name in self._names:
            shape, axis = np.shape(results[name]), self._rows.axes[name]
            if len(shape) <= axis or shape[axis] != total:
                raise _Torn(f'{total} rows went in, and output "{name}" came out as {list(shape)}')
        outcomes: list[Outcome] = []
        start = 0
        for job, names in zip(jobs, wanted, strict=True):
            end = start + job.rows
            outcomes.append({n: _cut(results[n], self._rows.axes[n], start, end) for n in names})
            start = end
        return outcomes

    def _gathered(self, name: str, jobs: Sequence[Job], total: int) -> Any:
        axis = self._rows.axes.get(name)
        parts: list[Any] = [job.request.feed.get(name) for job in jobs]
        if axis is None:
            return parts[0]  # the same for all: their keys are equal
        dtype, shape = next(
            ((p.dtype, p.shape) for p in parts if p is not None), (None, jobs[0].request.shapes.get(name, ()))
        )
        whole = self._buffers.array(name, (*shape[:axis], total, *shape[axis + 1 :]), dtype)
        if all(p is not None for p in parts):
            return np.concatenate(parts, axis=axis, out=whole, casting="no")
        start = 0
        for job, part in zip(jobs, parts, strict=True):
            end = start + job.rows
            place = whole[(slice(None),) * axis + (slice(start, end),)]
            if part is None:
                self._fill(job, name, place)
            else:
                place[...] = part
            start = end
        return whole

    # ── inside ────────────────────────────────────────────────────────────────────────────────────────

    def _wanted(self, job: Job) -> list[str]:
        if not job.request.outputs:
            return self._names
        names = [w.name for w in job.request.outputs]
        unknown = [n for n in names if n not in self._known]
        if unknown:
            raise InputError([f'output "{n}": no such output{nearest(n, self._names)}' for n in unknown[:64]])
        return names

    def _read(self, job: Job) -> dict[str, Any]:
        arrays = {}
        for name in job.request.regions:
            arrays[name] = self._buffers.array(name, tuple(job.request.shapes[name]))
            self._fill(job, name, arrays[name])
        return arrays

    def _fill(self, job: Job, name: str, place: Any) -> None:
        assert job.read is not None, "a request that names regions comes with a way to read them"
        if place.flags.c_contiguous:
            job.read(job.request.regions[name], place)
            return
        whole = np.empty(place.shape, place.dtype)
        job.read(job.request.regions[name], whole)
        place[...] = whole


def _cut(value: Any, axis: int, start: int, end: int) -> Any:
    """Those rows; in one piece, as they are going to be written out."""
    part = value[(slice(None),) * axis + (slice(start, end),)]
    return part if axis == 0 else np.ascontiguousarray(part)


def _logs(runner: Face) -> bool:
    """Whether a call writes log lines, so that its id matters: naming it costs as much as a small model."""
    severities = [table.get("log_severity_level") for table in (runner.plan.session, runner.plan.run)]
    return any(isinstance(s, int) and s < 4 for s in severities)
