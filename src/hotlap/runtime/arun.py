"""Calls from an event loop: on threads of their own, so many at a time, and no queue without end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hotlap.errors import Overloaded, UsageError
from hotlap.runtime.limits import Cancel

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

__all__ = ["Workers"]


class Workers:
    """Threads that run calls, started at the first.

    ORT's own `run_async` needs two threads inside of the session, takes one of them from the computation, and
    is no faster.

    Args:
        count: threads: calls that run at the same time.
        waiting: calls that may wait for a thread; one more is refused.
    """

    def __init__(self, count: int, waiting: int) -> None:
        self._count, self._waiting = count, waiting
        self._lock = threading.RLock()  # a signal handler that closes may come while it is held
        self._pool: ThreadPoolExecutor | None = None
        self._taken = 0
        self._over = False

    async def run(self, call: Callable[[], Any], cancel: Cancel) -> Any:
        """The call's answer; `cancel` is set when the caller is cancelled.

        Raises:
            Overloaded: as many calls as may wait are waiting already.
            UsageError: after `close`.
        """
        import asyncio  # whoever awaits has it loaded

        future = self._submit(call)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            cancel.cancel()
            raise

    def close(self) -> None:
        """Lets the threads end when the calls that they have are done."""
        with self._lock:
            pool, self._pool, self._over = self._pool, None, True
        if pool is not None:
            pool.shutdown(wait=False)

    def _submit(self, call: Callable[[], Any]) -> Future[Any]:
        from concurrent.futures import ThreadPoolExecutor  # not needed by who never awaits

        with self._lock:
            if self._over:
                raise UsageError("this runner is closed: open the model again")
            if self._taken >= self._count + self._waiting:
                raise Overloaded(
                    f"{self._count} calls run and {self._waiting} wait already: try again later, or open "
                    "with more workers"
                )
            self._taken += 1
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._count, thread_name_prefix="hotlap")
            future = self._pool.submit(call)
        future.add_done_callback(self._done)
        return future

    def _done(self, future: Future[Any]) -> None:
        with self._lock:
            self._taken -= 1
