"""One client's connection: `Connection`. Requests are answered one after the other, in their order."""

from __future__ import annotations

import asyncio
from time import perf_counter_ns
from typing import TYPE_CHECKING

from hotlap.errors import Cancelled
from hotlap.serve.http.arrival import BUSY, CHUNKS, CLOSED, CLOSING, FILLING, IDLE, LINGER, Arrival
from hotlap.serve.http.aside import Aside
from hotlap.serve.http.respond import CONTINUE, Reply, refusal, written
from hotlap.serve.http.turn import SMALL, Request
from hotlap.serve.status import TooManyConnections, TooSlow

if TYPE_CHECKING:
    from hotlap.serve.http.front import Front
    from hotlap.serve.http.infer import Asked
    from hotlap.serve.job import Job

__all__ = ["Connection"]

_NEVER = float("inf")
_WORTH_PACKING = 1024
_LONG_PACKED, _LONG_PLAIN = 1024, 64 * 1024
"""Bytes that take the better part of a millisecond to unpack, where they become a thousand times as many, or
to pack."""
_CLOSE, _KEEP = b"Connection: close\r\n", b"Connection: keep-alive\r\n"


class Connection(Arrival):
    """One client's connection."""

    __slots__ = ("_aside", "_done", "_job", "_moved", "_unpacking", "_unsent")

    def __init__(self, front: Front) -> None:
        super().__init__(front)
        self._job: Job | None = None
        self._aside = Aside(self._waits)
        self._unpacking = False
        self._done = self._computed
        self._unsent = 0  # bytes of answers that waited at the last look
        self._moved = 0.0  # when they had last become fewer

    # ── the transport's side ──────────────────────────────────────────────────────────────────────────

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        front = self._front
        self._transport = transport
        full = len(front.connections) >= front.limits.connections
        front.connections.add(self)
        self._until = front.now + front.limits.head_time
        if full:
            error = TooManyConnections(f"{front.limits.connections:,} connections are open already")
            self._write(written(refusal(error), front.date, _CLOSE))
            self._close()  # without lingering: there are too many already

    def eof_received(self) -> bool:
        """The client sends no more. It may have gone, or still read: TCP shows no difference."""
        self._half = True
        if not (self._phase == BUSY or (self._phase == IDLE and self._tail and self._choked)):
            return False
        if self._phase == BUSY:
            self._probe()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        if self._phase in (FILLING, CHUNKS) or self._unpacking:
            self._count(Cancelled("the client went before its request was whole"))
        self._phase = CLOSED
        self._front.connections.discard(self)
        self._room.hold(0)
        self._room.owe(0)
        self._tail.clear()
        self._body = self._chunks = None
        self._aside.cancel()
        job, self._job = self._job, None
        if job is not None:
            self._front.engine.drop(job)

    # ── the server's side ─────────────────────────────────────────────────────────────────────────────

    def look(self, now: float) -> None:
        """Ends the connection where the client is too slow."""
        if self._phase == CLOSED:
            return
        unsent = self._waiting()
        if unsent != self._unsent:
            self._moved = now
            if self._room.owed:
                self._room.owe(unsent)
        self._unsent = unsent
        if unsent and now - self._moved > self._front.limits.write_time:
            self._abort()
        elif now > self._until and not (unsent and self._phase in (IDLE, LINGER, CLOSING)):
            self._late(now)
        elif self._half and self._phase == BUSY:
            self._probe()

    def leave(self) -> bool:
        """Ends the connection if it has nothing to send and nothing to wait for; returns whether it is so.
        A request that is not whole by now was not accepted."""
        if self._phase in (CLOSING, CLOSED):
            return self._phase == CLOSED or not self._waiting()
        if self._phase == BUSY or self._waiting():
            return False
        self._close()
        return not self._waiting()

    def cut(self) -> None:
        """Ends the connection at once."""
        if self._phase != CLOSED:
            self._abort()

    def _waits(self) -> bool:
        """Whether its client waits for an answer, and has not gone."""
        return self._phase == BUSY

    def _waiting(self) -> int:
        """Bytes of answers that the system has not taken yet."""
        size: int = self._transport.get_write_buffer_size()
        return size

    def _abort(self) -> None:
        self._transport.abort()

    def _probe(self) -> None:
        """Writes something that every client of HTTP/1.1 reads over (RFC 9110, 15.2): where it has gone, its
        system says so, and the next write fails."""
        if self._head is not None and not self._head.old:
            self._transport.write(CONTINUE)

    def _late(self, now: float) -> None:
        if self._phase in (LINGER, CLOSING):
            self._abort()
        elif self._phase == IDLE and not self._tail:
            self._close()
        elif self._phase == IDLE:
            self._refuse(TooSlow(f"the head took longer than {self._front.limits.head_time:g} s"))
        elif not self._fast_enough(now):
            error = TooSlow("the body came too slowly")
            self._count(error)
            self._refuse(error)

    # ── from a request to its answer ──────────────────────────────────────────────────────────────────

    def _start(self, body: bytes | memoryview) -> None:
        self._phase = BUSY
        self._until = _NEVER
        asked = self._asked
        if asked is None:
            self._handle(body)
        elif asked.encoding:
            self._unpack(asked, body, perf_counter_ns())
        else:
            self._submit(Request(asked, body, perf_counter_ns()))

    def _handle(self, body: bytes | memoryview) -> None:
        try:
            assert self._route is not None and self._route.handler is not None and self._head is not None
            reply = self._route.handler(self._front.engine, self._match, body, self._head.headers)
        except Exception as error:  # noqa: BLE001  whatever happens, the client is told
            reply = refusal(error)
        self._answer(reply)

    # What makes functions stands apart from what every request goes through: it would cost there as well.

    def _unpack(self, asked: Asked, body: bytes | memoryview, arrived: int) -> None:
        self._unpacking = True
        self._aside.do(
            len(body) > _LONG_PACKED,
            lambda: self._front.inference.unpacked(asked, body),
            lambda plain: self._submit_unpacked(asked, plain, arrived),
            lambda error: self._refuse_inference(asked, error, arrived),
        )

    def _pack(self, asked: Asked, reply: Reply) -> None:
        self._aside.do(
            reply.nbytes > _LONG_PLAIN,
            lambda: self._front.inference.packed(asked, reply),
            self._answer,
            lambda error: self._answer(refusal(error)),
        )

    def _submit(self, request: Request) -> None:
        front = self._front
        together = front.inference.together(request.asked)
        if together > 1 and len(request.body) <= SMALL:
            front.turn.add(self, request, together)
        else:
            front.turn.make_way(request)
            self.take_up(request)

    def take_up(self, request: Request) -> None:
        """Decodes the request, and hands it to the engine."""
        job = self.decoded(request)
        if job is None:
            return
        try:
            self._front.engine.submit(job)
        except Exception as error:  # noqa: BLE001  whatever happens, the client is told
            self._job = None
            self._refuse_inference(request.asked, error, request.arrived)

    def decoded(self, request: Request) -> Job | None:
        """The request's job; None: it was refused, or the client has gone."""
        inference, asked, arrived = self._front.inference, request.asked, request.arrived
        if self._phase != BUSY:
            inference.refused(asked, Cancelled("the client went before its request was taken up"), arrived)
            return None
        begun = perf_counter_ns()
        try:
            self._job = job = inference.begin(asked, request.body, arrived, self._done)
        except Exception as error:  # noqa: BLE001  whatever happens, the client is told
            self._refuse_inference(asked, error, arrived)
            return None
        # What it waited for others meanwhile was not its own reading.
        job.timeline.decoded += arrived + request.spent - begun
        return job

    def send(self, answer: bytes | memoryview) -> None:
        """Writes an answer that `Turn.hold` kept."""
        if self._phase != CLOSED:
            self._write([answer])

    def _submit_unpacked(self, asked: Asked, plain: bytes, arrived: int) -> None:
        self._unpacking = False
        nbytes = self._room.held + len(plain)
        error = self._room.overloaded(nbytes)
        if error is not None:
            self._refuse_inference(asked, error, arrived)
            return
        self._room.hold(nbytes)
        self._submit(Request(asked, plain, arrived, perf_counter_ns() - arrived))

    def _refuse_inference(self, asked: Asked, error: BaseException, arrived: int) -> None:
        self._unpacking = False
        self._front.inference.refused(asked, error, arrived)
        self._answer(refusal(error))

    def _computed(self, job: Job) -> None:
        """The engine has an answer, or the reason why there is none."""
        self._job = None
        asked = self._asked
        assert asked is not None
        try:
            if self._front.answers and job.error is None:
                # Lists and maps are not sent: the protocol cannot carry them.
                self._room.check_answer(sum(getattr(a, "nbytes", 0) for a in (job.outputs or {}).values()))
            reply = self._front.inference.finish(asked, job)
        except Exception as error:  # noqa: BLE001  whatever happens, the client is told
            self._refuse_inference(asked, error, job.timeline.arrived)
            return
        if asked.accepted and reply.status == 200 and reply.nbytes >= _WORTH_PACKING:
            self._pack(asked, reply)
        else:
            self._answer(reply)

    def _answer(self, reply: Reply) -> None:
        head, front = self._head, self._front
        keep = head is not None and head.keep_alive and not front.closing
        keep = keep and not (self._half and not self._tail)
        line = b""
        if not keep:
            line = _CLOSE
        elif head is not None and head.old:
            line = _KEEP
        buffers = written(reply, front.date, line, head_only=head is not None and head.method == "HEAD")
        # What else may happen to this connection meanwhile would come before the answer: then it is not held.
        if front.turn.holds and keep and len(buffers) == 1 and not (self._tail or self._half or self._paused):
            front.turn.hold(self, buffers[0])
        else:
            self._write(buffers)
        if self._room.held:
            self._room.hold(0)
        if not keep:
            self._close(unread=bool(self._tail))
            return
        self._phase = IDLE
        self._until = front.now + front.limits.idle_time
        front.busy_poll.answered()
        if self._tail or self._paused:
            if self._tail:
                self._until = front.now + front.limits.head_time
            self._advance()

    def _write(self, buffers: list[bytes | memoryview]) -> None:
        if len(buffers) == 1:
            self._transport.write(buffers[0])
        else:
            self._transport.writelines(buffers)
        if self._choked:
            self._room.owe(self._waiting())

    def _refuse(self, error: BaseException) -> None:
        """Says why, and ends the connection: what the client sends next cannot be told from a request."""
        head_only = self._head is not None and self._head.method == "HEAD"
        self._write(written(refusal(error), self._front.date, _CLOSE, head_only=head_only))
        self._room.hold(0)
        self._close(unread=True)

    def _close(self, *, unread: bool = False) -> None:
        front = self._front
        self._tail.clear()
        self._body = self._chunks = None
        if unread and not self._half:
            # A socket that is closed while something is unread resets the connection, answer and all.
            self._phase = LINGER
            self._until = front.now + front.limits.linger_time
            if self._transport.can_write_eof():
                self._transport.write_eof()
            self._resume()
            return
        self._phase = CLOSING
        self._until = front.now + front.limits.write_time
        self._transport.close()
