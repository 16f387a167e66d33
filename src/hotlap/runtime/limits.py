"""What one call may ask for: a deadline, a way to take it back, its own name and severity in the log.

ORT looks at a run's `terminate` flag between two nodes of the graph. One thread of the process sets it when a
deadline passes; it sleeps until the next one and is started by the first call that has a deadline.
"""

from __future__ import annotations

import heapq
import itertools
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from time import monotonic
from types import TracebackType
from typing import Any, Self

from hotlap.errors import Cancelled, DeadlineExceeded, HotlapError, Overloaded, UsageError

__all__ = ["NONE", "Cancel", "Limits", "Watched"]


class Cancel:
    """Takes calls back: give it to any number of calls as `cancel=`, then call `cancel` from any thread.

    Calls that run stop before their next node and raise Cancelled; later ones raise it at once.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal handler that cancels may come while it is held
        self._running: dict[int, Callable[[], None]] = {}
        self._cancelled = False

    @property
    def cancelled(self) -> bool:
        return self._cancelled

    def cancel(self) -> None:
        """Stops every call that was given this; twice is fine."""
        with self._lock:
            self._cancelled = True
            running = list(self._running.values())
        for stop in running:
            stop()

    def _enter(self, key: int, stop: Callable[[], None]) -> None:
        with self._lock:
            self._running[key] = stop  # first: who cancels between these lines must find it
            if self._cancelled:
                del self._running[key]
                raise Cancelled("the call was cancelled before it ran")

    def _leave(self, key: int) -> None:
        with self._lock:
            self._running.pop(key, None)


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one call.

    Attributes:
        end: when the answer must be there, in seconds of `time.monotonic`; None: never.
        cancel: takes the call back.
        log_id: prefix of ORT's log lines of this call.
        severity: least severity that this call logs, 0 (all) to 4 (fatal).
    """

    end: float | None = None
    cancel: Cancel | None = None
    log_id: str | None = None
    severity: int | None = None

    @classmethod
    def of(
        cls, deadline: float | None, cancel: Cancel | None, log_id: str | None, severity: int | None
    ) -> Limits:
        """From what a caller says; `deadline` is seconds from now.

        Raises:
            DeadlineExceeded: no time is left.
            Cancelled: the call was taken back already.
            UsageError: a severity that ORT does not have.
        """
        if severity is not None and severity not in range(5):
            raise UsageError(
                f"severity {severity!r}: 0 (verbose), 1 (info), 2 (warning), 3 (error), 4 (fatal)"
            )
        limits = cls(None if deadline is None else monotonic() + deadline, cancel, log_id, severity)
        limits.check()
        return limits

    def check(self) -> None:
        """Raises DeadlineExceeded or Cancelled where the call must not start any more."""
        if self.cancel is not None and self.cancel.cancelled:
            raise Cancelled("the call was cancelled before it ran")
        if self.end is not None and monotonic() >= self.end:
            raise DeadlineExceeded("the deadline had passed before the model ran")

    @property
    def stops(self) -> bool:
        """Something may stop the call while it runs."""
        return self.end is not None or self.cancel is not None


NONE = Limits()


class Watched:
    """Within the block, `stop` is called when the deadline passes or the call is taken back."""

    def __init__(self, limits: Limits, stop: Callable[[], None]) -> None:
        self._limits = limits
        self._stop = stop
        self._why: HotlapError | None = None
        self._ticket: list[Any] | None = None

    @property
    def why(self) -> HotlapError | None:
        """What stopped the call; None: nothing did."""
        return self._why

    def __enter__(self) -> Self:
        if self._limits.cancel is not None:
            self._limits.cancel._enter(id(self), self._cancelled)
        if self._limits.end is not None:
            try:
                self._ticket = _watch(self._limits.end, self._late)
            except BaseException:
                if self._limits.cancel is not None:
                    self._limits.cancel._leave(id(self))
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ticket is not None:
            self._ticket[-1] = None  # dropped when its time comes, or with the others that are done
        if self._limits.cancel is not None:
            self._limits.cancel._leave(id(self))

    def _cancelled(self) -> None:
        self._why = self._why or Cancelled("the call was cancelled while it ran")
        self._stop()

    def _late(self) -> None:
        self._why = self._why or DeadlineExceeded("the deadline passed while the model ran")
        self._stop()


# ── the thread that watches deadlines ─────────────────────────────────────────────────────────────────

_changed = threading.Condition()
_tickets: list[list[Any]] = []  # a heap of [when, number, what to do or None]
_numbers = itertools.count()
_watcher: threading.Thread | None = None
_FEW = 64
_most = _FEW
"""Tickets on the heap at which those of finished calls are dropped: a deadline may be hours away."""


def _watch(end: float, act: Callable[[], None]) -> list[Any]:
    """Raises Overloaded where the thread that watches could not be started."""
    ticket = [end, next(_numbers), act]
    with _changed:
        if len(_tickets) >= _most:
            _drop_the_done()
        heapq.heappush(_tickets, ticket)
        if _watcher is None:
            _start_watching(ticket)
        elif _tickets[0] is ticket:
            _changed.notify()
    return ticket


def _drop_the_done() -> None:
    global _most
    # One step for the interpreter: no signal handler may add a ticket between the reading and the writing.
    _tickets[:] = filter(itemgetter(-1), _tickets)
    heapq.heapify(_tickets)
    _most = max(_FEW, 2 * len(_tickets))
    _changed.notify()  # the thread sleeps until a time that may not be the next one any more


def _start_watching(ticket: list[Any]) -> None:
    global _watcher
    watcher = threading.Thread(target=_keep_watch, name="hotlap-deadlines", daemon=True)
    try:
        watcher.start()
    except RuntimeError as error:
        ticket[-1] = None
        raise Overloaded(f"no thread to watch the deadline: {error}") from error
    _watcher = watcher  # not before: or no deadline would ever be watched


def _keep_watch() -> None:
    while True:
        with _changed:
            while _tickets and (_tickets[0][-1] is None or _tickets[0][0] <= monotonic()):
                act = heapq.heappop(_tickets)[-1]
                if act is not None:
                    act()
            _changed.wait(_tickets[0][0] - monotonic() if _tickets else None)


def _start_anew() -> None:
    """In a forked child: the thread is gone, and the lock may have been held."""
    global _changed, _watcher, _most
    _changed, _watcher, _most = threading.Condition(), None, _FEW
    _tickets.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
