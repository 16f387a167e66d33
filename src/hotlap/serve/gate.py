"""Who may come in, before any work on it: `Gate`."""

from __future__ import annotations

import asyncio

from hotlap.errors import Draining, NotReady
from hotlap.serve.job import Job
from hotlap.serve.served import Served

__all__ = ["Gate"]


class Gate:
    """Counts who is inside, and is closed for good when the server stops. For the event loop's thread alone.

    Attributes:
        inside: accepted jobs that are not over.
        draining: nobody comes in any more.
    """

    def __init__(self) -> None:
        self.inside: set[Job] = set()
        self.draining = False
        self._empty: asyncio.Future[None] | None = None

    def check(self, model: Served) -> None:
        """Raises Draining or NotReady where a job for the model may not come in."""
        if self.draining:
            raise Draining("the server is about to stop: ask another one")
        if not model.ready:
            raise NotReady(f'model "{model.name}" is not ready yet: try again later')

    def leave(self, job: Job) -> None:
        self.inside.discard(job)
        if self._empty is not None and not self.inside and not self._empty.done():
            self._empty.set_result(None)

    async def drain(self, seconds: float) -> list[Job]:
        """Closes, and waits until everybody has left or time is up; who is still inside then."""
        self.draining = True
        if self.inside and self._empty is None:
            self._empty = asyncio.get_running_loop().create_future()
        if self._empty is not None:
            await asyncio.wait([self._empty], timeout=seconds)
        return list(self.inside)
