"""Requests that arrive in one turn of the event loop, taken up together: `Turn`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter_ns
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hotlap.serve.engine import Engine
    from hotlap.serve.http.connection import Connection
    from hotlap.serve.http.infer import Asked
    from hotlap.serve.job import Job

__all__ = ["PATIENCE", "SMALL", "Request", "Turn"]

_log = logging.getLogger("hotlap.serve")

SMALL = 8 * 1024
"""Bytes of a body. A larger one is decoded for itself: others would wait for that."""
_MOST_BYTES = 64 * 1024
"""Of bodies that are taken up together: a millisecond or two of reading numbers."""
PATIENCE = 2_000_000
"""Nanoseconds that a request waits for further ones to be read, and an answer for further ones to be made."""


class Request(NamedTuple):
    """An inference request that is whole.

    Attributes:
        body: unpacked.
        arrived: when its last byte was there, `time.perf_counter_ns`.
        spent: nanoseconds that were spent on it since: on unpacking.
    """

    asked: Asked
    body: bytes | memoryview
    arrived: int
    spent: int = 0


class Turn:
    """Requests of models whose calls run on the event loop.

    A loop reads from every client that has sent something before it turns to anything else. What it has read
    by then is decoded in a row, computed in a row or, where rows may share it, in one call of the model, and
    the answers are written in a row. So each step finds the caches as it needs them, and a client that waits
    for several answers is woken once.

    For the event loop's thread alone.
    """

    __slots__ = ("_arrived", "_engine", "_held", "_loop", "_nbytes", "_unsent", "_waiting", "holds")

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: list[tuple[Connection, Request]] = []
        self._nbytes = 0  # of what waits
        self._arrived = 0  # the first of those that wait
        self._unsent: list[tuple[Connection, bytes | memoryview]] = []
        self._held = 0  # since when the first of those is
        self.holds = False
        """Whether answers are kept, to be written together: `hold`."""

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    # ── requests ──────────────────────────────────────────────────────────────────────────────────────

    def add(self, connection: Connection, request: Request, most: int) -> None:
        """Takes the request up when the loop has read what there is.

        Args:
            most: with how many it is taken up at once, itself included.
        """
        waiting = self._waiting
        waiting.append((connection, request))
        self._nbytes += len(request.body)
        if len(waiting) == 1:
            assert self._loop is not None
            self._arrived = request.arrived
            self._loop.call_soon(self.take_up)
        elif not self.holds and (  # else it has come in the middle of taking up: the loop is to have a turn
            len(waiting) >= most or self._nbytes > _MOST_BYTES or self._is_late(request)
        ):
            self.take_up()

    def make_way(self, request: Request) -> None:
        """Takes up what waits before a request that is not to be taken up with it, where that one is large or
        the wait has been long."""
        if self._waiting and not self.holds and (len(request.body) > SMALL or self._is_late(request)):
            self.take_up()

    def _is_late(self, request: Request) -> bool:
        return request.arrived - self._arrived > PATIENCE

    def take_up(self) -> None:
        """Decodes, runs and answers what has been read."""
        waiting, self._waiting, self._nbytes = self._waiting, [], 0
        if len(waiting) < 2:
            for connection, request in waiting:
                connection.take_up(request)
            return
        with self.holding():
            jobs = [self._decoded(connection, request) for connection, request in waiting]
            self._engine.submit_all([job for job in jobs if job is not None])

    def _decoded(self, connection: Connection, request: Request) -> Job | None:
        try:
            return connection.decoded(request)
        except Exception:  # noqa: BLE001  logged; the others are not to wait for ever
            _log.exception("a request could not be read")
            connection.cut()
            return None

    # ── answers ───────────────────────────────────────────────────────────────────────────────────────

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
        now = perf_counter_ns()
        if not self._unsent:
            self._held = now
        self._unsent.append((connection, answer))
        if now - self._held > PATIENCE:
            self._write()

    def _write(self) -> None:
        unsent, self._unsent = self._unsent, []
        for connection, answer in unsent:
            try:
                connection.send(answer)
            except Exception:  # noqa: BLE001  logged; the other clients are not to miss theirs
                _log.exception("an answer could not be written")
                connection.cut()  # its next answer would be taken for this one
