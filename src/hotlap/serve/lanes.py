"""Threads that take calls from one queue and share one session: `Lanes`.

A lane that becomes free takes what waits then, not earlier: until that moment later jobs may still join. The
event loop is told once for each call.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from time import perf_counter

from hotlap.serve.batch import Call, bare
from hotlap.serve.job import Job
from hotlap.serve.scheduler import Scheduler

__all__ = ["Lanes"]

log = logging.getLogger("hotlap.serve")

Run = Callable[[Call], None]


class Lanes:
    """See the module.

    Args:
        name: of the model, for the threads' names.
        queue: what waits. From now on touched through this object alone.
        call: makes a call of the jobs that it is to run.
        settled: told, in the lane, of each call that was run, or of jobs that came too late; False: nobody
            listens any more, and the lane ends.
    """

    def __init__(
        self,
        name: str,
        queue: Scheduler[Job],
        call: Callable[[list[Job]], Call],
        settled: Callable[[Call | None, list[Job]], bool],
    ) -> None:
        self._name, self._queue, self._call, self._settled = name, queue, call, settled
        self._lock = threading.Lock()
        self._tokens: SimpleQueue[None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._closed = False

    def add(self, prepare: Callable[[], Run]) -> Future[None]:
        """Starts one more lane.

        Args:
            prepare: called in the lane, before it takes any job; gives what runs its calls.

        Returns:
            Done when the lane is ready, or with what `prepare` raised.
        """
        ready: Future[None] = Future()
        name = f"hotlap-{self._name}-{len(self._threads)}"
        thread = threading.Thread(target=self._live, args=(prepare, ready), name=name, daemon=True)
        self._threads.append(thread)
        thread.start()
        return ready

    def put(self, job: Job) -> None:
        """Lets the job wait, and wakes a lane if one is free.

        Raises:
            Overloaded: the queue is full.
        """
        with self._lock:
            self._queue.push(job)
            wake = self._idle > 0
            self._idle -= wake
        if wake:
            self._tokens.put(None)

    def remove(self, job: Job) -> bool:
        """Takes a waiting job out; False: a lane has it already."""
        with self._lock:
            return self._queue.remove(job)

    def check(self, nbytes: int) -> None:
        """Raises Overloaded where a job of so many bytes would be refused now."""
        with self._lock:
            self._queue.check(nbytes)

    @property
    def waiting(self) -> tuple[int, int]:
        """Jobs that wait, and the bytes of their inputs."""
        with self._lock:
            return len(self._queue), self._queue.nbytes

    @property
    def busy(self) -> tuple[int, int]:
        """Lanes that run a call or are about to, and all of them."""
        with self._lock:
            return len(self._threads) - self._idle, len(self._threads)

    def close(self) -> None:
        """Ends the lanes after the calls that they run; what waits stays undone."""
        with self._lock:
            self._closed = True
        for _ in self._threads:
            self._tokens.put(None)

    def join(self, seconds: float) -> bool:
        """Waits for the lanes to end; False: one still runs."""
        end = perf_counter() + seconds
        for thread in self._threads:
            thread.join(max(0.0, end - perf_counter()))
        return not any(thread.is_alive() for thread in self._threads)

    # ── in a lane ─────────────────────────────────────────────────────────────────────────────────────

    def _live(self, prepare: Callable[[], Run], ready: Future[None]) -> None:
        if not ready.set_running_or_notify_cancel():  # from now on it cannot be cancelled under the lane
            return
        try:
            run = prepare()
        except BaseException as error:  # noqa: BLE001  told to whoever waits for the lane
            ready.set_exception(error)
            return
        ready.set_result(None)
        while self._turn(run):
            pass

    def _turn(self, run: Run) -> bool:
        """One call, or a sleep until there is work; False: it was the last."""
        call = None
        with self._lock:
            if self._closed:
                return False
            jobs, late = self._queue.take(perf_counter(), len(self._threads))
            if jobs:
                call = self._call(jobs)
                for job in jobs:
                    job.call = call
            elif not late:
                self._idle += 1
        if call is None and not late:
            self._tokens.get()
            return True
        if late and not self._settled(None, late):
            return False
        return call is None or self._perform(run, call)

    def _perform(self, run: Run, call: Call) -> bool:
        try:
            run(call)
        except BaseException as error:
            log.exception("%s: a call of %d jobs failed", self._name, len(call.jobs))
            call.outcomes = [bare(error)] * len(call.jobs)
        return self._settled(call, [])
