"""Requests that arrive in one turn of the event loop, taken up together: `Turn`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter_ns
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hotlap.serve.engine import Engine
    from hotlap.serve.http.connection import Connection
    from hotlap.serve.http.infer import Asked

__all__ = ["Turn"]

_log = logging.getLogger("hotlap.serve")


class Turn:
    """Requests of models whose calls run on the event loop.

    A loop reads from every client that has sent something before it turns to anything else. What it has read
    by then is decoded in a row, computed in a row or, where rows may share it, in one call of the model, and
    the answers are written in a row. So each step finds the caches as it needs them, and a client that waits
    for several answers is woken once.

    For the event loop's thread alone.
    """

    __slots__ = ("_engine", "_loop", "_unsent", "_waiting", "holds")

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: list[tuple[Connection, Asked, bytes | memoryview, int]] = []
        self._unsent: list[tuple[Connection, bytes | memoryview]] = []
        self.holds = False
        """Whether answers are kept, to be written together: `hold`."""

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def add(
        self, connection: Connection, asked: Asked, body: bytes | memoryview, arrived: int, most: int
    ) -> None:
        """Takes the request up when the loop has read what there is.

        Args:
            arrived: when its last byte was there, `time.perf_counter_ns`.
            most: with how many it is taken up at once, itself included.
        """
        waiting = self._waiting
        waiting.append((connection, asked, body, arrived))
        if len(waiting) == 1:
            assert self._loop is not None
            self._loop.call_soon(self.take_up)
        elif len(waiting) >= most:
            self.take_up()

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Keeps the answers that are made in it, and writes them in a row at the end."""
        if self.holds:
            yield
            return
        self.holds = True
        try:
            yield
        finally:
            self.holds = False
            self._write()

    def hold(self, connection: Connection, answer: bytes | memoryview) -> None:
        """Writes it with the others, before the loop turns to anything else."""
        self._unsent.append((connection, answer))

    def take_up(self) -> None:
        """Decodes, runs and answers what has been read."""
        waiting, self._waiting = self._waiting, []
        if len(waiting) < 2:
            for connection, asked, body, arrived in waiting:
                connection.take_up(asked, body, arrived)
            return
        with self.holding():
            self._compute(waiting)

    def _compute(self, waiting: list[tuple[Connection, Asked, bytes | memoryview, int]]) -> None:
        jobs = []
        before = perf_counter_ns()
        for connection, asked, body, arrived in waiting:
            job = connection.decoded(asked, body, arrived)
            now = perf_counter_ns()
            if job is not None:
                # Others were decoded meanwhile: that it waited for, and was not its own reading.
                job.timeline.decoded = arrived + now - before
                jobs.append(job)
            before = now
        self._engine.submit_all(jobs)

    def _write(self) -> None:
        unsent, self._unsent = self._unsent, []
        for connection, answer in unsent:
            try:
                connection.send(answer)
            except Exception:  # noqa: BLE001  logged; the other clients are not to miss theirs
                _log.exception("an answer could not be written")
