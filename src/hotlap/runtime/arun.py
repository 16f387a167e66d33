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
        self._taken: set[object] = set()  # a token for each call that runs or waits
        self._submitting = False
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
            self._over = True
            # While `submit` runs it holds a lock of the pool's that no thread may take twice, and only a
            # signal handler or a finalizer of the same thread comes here then: `_submit` does the rest.
            if not self._submitting:
                self._let_end()

    def _let_end(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False)

    def _submit(self, call: Callable[[], Any]) -> Future[Any]:
        from concurrent.futures import ThreadPoolExecutor  # not needed by who never awaits

        with self._lock:
            if self._over:
                raise UsageError("this runner is closed: open the model again")
            if len(self._taken) >= self._count + self._waiting:
                raise Overloaded(
                    f"{self._count} calls run and {self._waiting} wait already: try again later, or open "
                    "with more workers"
                )
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._count, thread_name_prefix="hotlap")
            token = object()
            self._taken.add(token)
            self._submitting = True
            try:
                future = self._pool.submit(self._if_taken, token, call)
                future.add_done_callback(lambda _: self._taken.discard(token))
            except BaseException as error:
                self._taken.discard(token)
                if isinstance(error, RuntimeError):
                    raise Overloaded(f"no thread for this call: {error}") from error
                raise
            finally:
                self._submitting = False
                if self._over:
                    self._let_end()
        return future

    def _if_taken(self, token: object, call: Callable[[], Any]) -> Any:
        """The call's answer. A pool that could not start a thread keeps the call, though it was refused."""
        return call() if token in self._taken else None
