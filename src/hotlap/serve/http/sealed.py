"""Connections that speak TLS: `Handshake`, and `Sealed`, which it becomes.

An event loop's transport of TLS hands what it is given to the transport of TCP below, and tells neither how
much waits there nor, for as long as nothing more is written, that anything does. So the handshake is made
here, by `loop.start_tls`, and the transport below stays known.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from typing import TYPE_CHECKING, Any

from hotlap.serve.http.arrival import CLOSED
from hotlap.serve.http.connection import Connection

if TYPE_CHECKING:
    from hotlap.serve.http.front import Front

__all__ = ["Handshake", "Sealed"]

_log = logging.getLogger("hotlap.serve")

_HELD = 16 * 1024
"""Bytes. The end of a large answer is written apart: it stays above while the rest waits below, and so the
connection is told to pause, and told when the client has taken nearly all."""
_NEVER = 10 * 365 * 86400.0
"""Seconds. The loop would cut a client that still reads; `Connection.look` sees whether it does."""


class Sealed(Connection):
    """One client's connection, through TLS."""

    __slots__ = ("_below",)

    def __init__(self, front: Front, below: Any) -> None:
        """
        Args:
            below: the transport of TCP, or of a Unix socket.
        """
        super().__init__(front)
        self._below = below

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.set_write_buffer_limits(high=1)  # type: ignore[attr-defined]
        super().connection_made(transport)

    def eof_received(self) -> bool:
        """TLS has no half of a connection: its end ends the other half too."""
        self._half = True
        return False

    def _write(self, buffers: list[bytes | memoryview]) -> None:
        if len(buffers) > 1:
            last = memoryview(buffers[-1])
            cut = max(0, len(last) - _HELD)
            super()._write([*buffers[:-1], last[:cut]] if cut else buffers[:-1])
            buffers = [last[cut:]]
        super()._write(buffers)

    def _waiting(self) -> int:
        waits: int = self._below.get_write_buffer_size()
        try:
            return waits + int(self._transport.get_write_buffer_size())
        except AttributeError:  # Python's own forgets all when it is closed after the client has closed
            return waits

    def _abort(self) -> None:
        self._below.abort()  # the one above may have forgotten what it stands on


class Handshake(asyncio.Protocol):
    """Whoever connects, until it speaks TLS."""

    def __init__(self, front: Front, context: ssl.SSLContext) -> None:
        self._front, self._context = front, context
        self._below: Any = None
        self._coming: Any = None
        self._early: list[bytes] = []  # what came together with the handshake's end
        self._over = self._lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._below = transport
        front = self._front
        if len(front.connections) + len(front.handshakes) >= front.limits.connections:
            self._below.abort()  # why could be told through TLS alone
            return
        front.handshakes.add(self)
        self._coming = asyncio.get_running_loop().start_tls(
            transport,  # type: ignore[arg-type]
            self,
            self._context,
            server_side=True,
            ssl_handshake_timeout=front.limits.head_time,
            ssl_shutdown_timeout=_NEVER,
        )
        # Its first step is made at once and not by a task: bytes that came before it would go astray.
        self._coming.send(None).add_done_callback(self._shaken)

    def data_received(self, data: bytes) -> None:
        self._early.append(data)

    def eof_received(self) -> bool:
        self._over = True
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True

    def cut(self) -> None:
        """Ends the connection at once."""
        self._coming.close()
        self._below.abort()

    def _shaken(self, _: asyncio.Future[Any]) -> None:
        self._front.handshakes.discard(self)
        coming, self._coming = self._coming, None
        transport = None
        try:
            coming.send(None)
        except StopIteration as made:
            transport = made.value
        except Exception as error:  # noqa: BLE001  the connection is closed: nobody is there to be told
            _log.debug("a client was not let in: %s", error)
        # uvloop gives a transport even where the client has gone before the handshake: nobody would ever say
        # of it that the connection is lost.
        if transport is None or self._lost or self._below.is_closing():
            return
        try:
            self._begin(transport)
        except BaseException:
            self._below.abort()
            raise

    def _begin(self, transport: Any) -> None:
        connection = Sealed(self._front, self._below)
        transport.set_protocol(connection)
        connection.connection_made(transport)
        for data in self._early:
            _give(connection, data)
        if self._over:
            connection.eof_received()


def _give(connection: Sealed, data: bytes) -> None:
    """As the loop does."""
    rest = memoryview(data)
    while rest and connection._phase != CLOSED:
        room = connection.get_buffer(len(rest))
        count = min(len(room), len(rest))
        room[:count] = rest[:count]
        connection.buffer_updated(count)
        rest = rest[count:]
