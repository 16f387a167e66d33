"""Work of one connection that is too long for the event loop: `Aside`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

__all__ = ["Aside"]


class Aside:
    """Does one piece of work at a time, in a thread where it is long: the event loop has other clients too.

    Args:
        wanted: whether the result is still wanted when it is there.
    """

    __slots__ = ("_future", "_wanted")

    def __init__(self, wanted: Callable[[], bool]) -> None:
        self._wanted = wanted
        self._future: asyncio.Future[Any] | None = None

    def do(
        self,
        long: bool,
        work: Callable[[], Any],
        then: Callable[[Any], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        """Calls `work`, then `then` with its result or `failed` with what it raised, on the loop's thread."""
        if not long:
            try:
                result = work()
            except Exception as error:  # noqa: BLE001  whatever happens, the client is told
                failed(error)
            else:
                then(result)
            return

        def over(future: asyncio.Future[Any]) -> None:
            self._future = None
            error = None if future.cancelled() else future.exception()
            if future.cancelled() or not self._wanted():
                return
            if error is not None:
                failed(error)
            else:
                then(future.result())

        self._future = asyncio.get_running_loop().run_in_executor(None, work)
        self._future.add_done_callback(over)

    def cancel(self) -> None:
        """Nobody wants the result any more."""
        if self._future is not None:
            self._future.cancel()
