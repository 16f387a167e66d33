"""What the connections of one server share: `Front`."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Iterable
from email.utils import formatdate
from typing import TYPE_CHECKING

from hotlap.serve.busy_poll import SPAN, BusyPoll
from hotlap.serve.http.infer import Inference
from hotlap.serve.http.limits import Limits
from hotlap.serve.http.origin import by_address, check_origin
from hotlap.serve.http.routes import Headers, Route, Table
from hotlap.serve.http.turn import Turn
from hotlap.serve.status import NOT_NEAR, Forbidden, Unauthorized

if TYPE_CHECKING:
    from hotlap.serve.engine import Engine
    from hotlap.serve.http.connection import Connection
    from hotlap.serve.http.sealed import Handshake
    from hotlap.serve.shared import SharedMemory

__all__ = ["Front"]

_log = logging.getLogger("hotlap.serve")

_SCRATCH = 64 * 1024
_FAREWELL = 0.25
"""Seconds. A client that asks again and again does so within this."""
_ACCEPTING = 0.005
"""Seconds, in which the loop takes up all who wait for that."""
_SWEEP = 0.5
"""Seconds. One timer looks at all connections: a timer of its own for each request would cost more than its
parsing."""


class Front:
    """Of one server, on one event loop.

    Attributes:
        engine: what runs the models.
        inference: reads and answers inference requests.
        busy_poll: told of each answer.
        turn: takes up together what short models are asked in one turn of the loop.
        table: the addresses.
        limits: of sizes and times.
        scratch, view: where every connection's bytes arrive first. One for all of them: the loop fills it and
            has it read before it turns to the next.
        connections: those that are open.
        handshakes: of TLS, that are going on; they become connections.
        now: the loop's time at the last sweep.
        date: the header line of that name.
        closing: answers say that the connection ends.
        bodies: bytes of the large bodies that arrive or wait, as far as they have come; and of what was
            unpacked.
        answers: bytes of the large answers that their clients have not read yet.
    """

    def __init__(
        self,
        engine: Engine,
        routes: Iterable[Route],
        limits: Limits,
        shared: SharedMemory,
        *,
        token: str | None = None,
        busy_poll: float = SPAN,
    ) -> None:
        """
        Args:
            token: that requests must bear; None: whoever reaches the server may use it.
            busy_poll: as `BusyPoll`'s span.
        """
        self.engine, self.limits = engine, limits
        self.inference = Inference(engine, limits, shared)
        self.table = Table(routes)
        self.busy_poll = BusyPoll(busy_poll, lambda: engine.inside > 0)
        self.turn = Turn(engine)
        engine.holding = self.turn.holding
        self.scratch = bytearray(_SCRATCH)
        self.view = memoryview(self.scratch)
        self.connections: set[Connection] = set()
        self.handshakes: set[Handshake] = set()
        self.now = 0.0
        self.date = b""
        self.closing = False
        self.bodies = self.answers = 0
        self._token = None if token is None else b"Bearer " + token.encode()
        self._timer: asyncio.TimerHandle | None = None

    def near(self, headers: Headers, *, unix: bool) -> bool:
        """Whether a request may have to do with shared memory: no web page makes it.

        Args:
            unix: it came through a Unix socket, which no browser can reach.
        """
        return unix or self._token is not None or by_address(headers)

    def authorise(self, route: Route, headers: Headers, *, near: bool) -> None:
        """
        Args:
            near: as `near` says.

        Raises:
            Unauthorized: the address wants a token, and this one is not it.
            Forbidden: none is asked for, and a web page from elsewhere makes the request.
        """
        if self._token is None:
            check_origin(headers)
            if route.near and not near:
                raise Forbidden(NOT_NEAR)
            return
        if route.open:
            return
        given = headers.get(b"authorization", b"")
        if not hmac.compare_digest(given[:7].title() + given[7:], self._token):
            raise Unauthorized("this server wants the header Authorization: Bearer with its token")

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begins to watch over the connections."""
        self._loop = loop
        self.busy_poll.start(loop)
        self.turn.start(loop)
        times = (self.limits.head_time, self.limits.body_time, self.limits.idle_time, self.limits.write_time)
        self._period = min(_SWEEP, *(t / 4 for t in times))
        self._sweep()

    def stop(self) -> None:
        """Cuts what is still open."""
        if self._timer is not None:
            self._timer.cancel()
        for connection in list(self.connections):
            connection.cut()
        for handshake in list(self.handshakes):
            handshake.cut()

    async def finish(self, seconds: float) -> int:
        """Lets every connection send what it has to send, and ends it.

        Args:
            seconds: to wait for that at most.

        Returns:
            How many were still sending, or waiting for an answer.
        """
        self.closing = True
        end = self._loop.time() + seconds
        await self._hear_out(min(end, self._loop.time() + _FAREWELL))
        while busy := [c for c in self.connections if not c.leave()]:
            if self._loop.time() >= end:
                break
            await asyncio.sleep(0.01)
        return len(busy)

    async def _hear_out(self, end: float) -> None:
        """Lets clients ask that are about to, those too that wait to be taken up: they are told to go
        elsewhere, and that it is the last answer. A connection that is closed over a request is reset."""
        await asyncio.sleep(_ACCEPTING)
        while self.connections and self._loop.time() < end:
            await asyncio.sleep(_ACCEPTING)

    def _sweep(self) -> None:
        # First of all: whatever goes wrong with one connection, the others' times are kept.
        self._timer = self._loop.call_later(self._period, self._sweep)
        self.now = self._loop.time()
        self.date = b"Date: %b\r\n" % formatdate(usegmt=True).encode()
        for connection in list(self.connections):
            try:
                connection.look(self.now)
            except Exception:  # noqa: BLE001  logged, with its traceback
                _log.exception("a connection could not be looked at")
