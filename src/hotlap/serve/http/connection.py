"""One client's connection: `Connection`.

It takes up one request at a time and answers in order. What a client sends ahead waits unread in a buffer of
bounded size, then in the client's own system.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import numpy as np

from hotlap.errors import HotlapError, Overloaded
from hotlap.serve.http.chunked import Chunks
from hotlap.serve.http.head import END, Head, might_become_a_head, read_head
from hotlap.serve.http.respond import CONTINUE, Reply, refusal, written
from hotlap.serve.status import BodyTooLarge, Refused, TooManyConnections, TooSlow

if TYPE_CHECKING:
    from hotlap.serve.http.front import Front
    from hotlap.serve.http.infer import Asked
    from hotlap.serve.http.routes import Match, Route
    from hotlap.serve.job import Job

__all__ = ["Connection"]

# Where a connection is.
_IDLE = 0  # waits for a head, or for the rest of one
_FILLING = 1  # the body's bytes go straight to where they will be read
_CHUNKS = 2
_BUSY = 3  # the answer is being made
_LINGER = 4  # the answer is written; what still comes is thrown away, so that it is not lost to a reset
_CLOSING = 5
_CLOSED = 6

_NEVER = float("inf")
_WORTH_PACKING = 1024
_LONG_PACKED, _LONG_PLAIN = 1024, 64 * 1024
"""Bytes that take the better part of a millisecond to unpack, where they become a thousand times as many, or
to pack."""
_ALIGNMENT = 64
_CLOSE, _KEEP = b"Connection: close\r\n", b"Connection: keep-alive\r\n"


class Connection(asyncio.BufferedProtocol):
    """One client's connection."""

    __slots__ = (
        "_advancing", "_asked", "_block", "_body", "_choked", "_chunks", "_done", "_filled", "_front",
        "_half", "_head", "_held", "_job", "_match", "_moved", "_paused", "_phase", "_route", "_searched",
        "_since", "_tail", "_transport", "_unsent", "_until", "_whole",
    )  # fmt: skip

    def __init__(self, front: Front) -> None:
        self._front = front
        self._transport: Any = None
        self._phase = _IDLE
        self._until = self._since = 0.0
        self._tail = bytearray()  # what has arrived and was not taken up
        self._searched = 0  # up to where no head ends in it
        self._advancing = self._choked = self._paused = self._half = False
        # The last head: clients send the same one again and again, so it is compared before it is read.
        self._block = b""
        self._whole = -1  # bytes of that head and its body
        self._head: Head | None = None
        self._route: Route | None = None
        self._match: Match = {}
        self._asked: Asked | None = None
        self._body: Any = None
        self._filled = self._held = 0
        self._chunks: Chunks | None = None
        self._job: Job | None = None
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

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._phase == _FILLING:
            rest: memoryview = self._body[self._filled :]
            return rest
        return self._front.view

    def buffer_updated(self, nbytes: int) -> None:
        front, phase = self._front, self._phase
        if phase == _IDLE:
            if (
                nbytes == self._whole
                and not self._tail
                and not self._choked
                and front.scratch.startswith(self._block)
            ):
                self._start(bytes(front.view[len(self._block) : nbytes]))
                return
            if not self._tail:
                self._until = front.now + front.limits.head_time
            self._tail += front.view[:nbytes]
            self._advance()
        elif phase == _FILLING:
            self._filled += nbytes
            if self._filled == len(self._body):
                body, self._body = self._body, None
                self._start(body)
        elif phase == _CHUNKS:
            self._chunk(bytes(front.view[:nbytes]))
        elif phase == _BUSY:
            self._tail += front.view[:nbytes]
            self._pause()

    def eof_received(self) -> bool:
        """The client sends no more. It may have gone, or still read: TCP shows no difference."""
        self._half = True
        if self._phase != _BUSY or self._transport.get_extra_info("sslcontext") is not None:
            return False
        self._probe()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._phase = _CLOSED
        self._front.connections.discard(self)
        self._release()
        self._tail.clear()
        self._body = self._chunks = None
        job, self._job = self._job, None
        if job is not None:
            self._front.engine.drop(job)

    def pause_writing(self) -> None:
        self._choked = True

    def resume_writing(self) -> None:
        self._choked = False
        self._advance()

    # ── the server's side ─────────────────────────────────────────────────────────────────────────────

    def look(self, now: float) -> None:
        """Ends the connection where the client is too slow."""
        if self._phase == _CLOSED:
            return
        unsent = self._transport.get_write_buffer_size()
        if unsent and unsent != self._unsent:
            self._moved = now
        self._unsent = unsent
        if unsent and now - self._moved > self._front.limits.write_time:
            self._transport.abort()
        elif now > self._until and not (unsent and self._phase == _CLOSING):
            self._late(now)
        elif self._half and self._phase == _BUSY:
            self._probe()

    def leave(self) -> bool:
        """Ends the connection if it has nothing to send and nothing to wait for; returns whether it is so.
        A request that is not whole by now was not accepted."""
        if self._phase in (_CLOSING, _CLOSED):
            return self._phase == _CLOSED or not self._transport.get_write_buffer_size()
        if self._phase == _BUSY or self._transport.get_write_buffer_size():
            return False
        self._close()
        return True

    def cut(self) -> None:
        """Ends the connection at once."""
        if self._phase != _CLOSED:
            self._transport.abort()

    def _probe(self) -> None:
        """Writes something that every client of HTTP/1.1 reads over (RFC 9110, 15.2): where it has gone, its
        system says so, and the next write fails."""
        if self._head is not None and not self._head.old:
            self._transport.write(CONTINUE)

    def _late(self, now: float) -> None:
        if self._phase in (_LINGER, _CLOSING):
            self._transport.abort()
        elif self._phase == _IDLE and not self._tail:
            self._close()
        elif self._phase == _IDLE:
            self._refuse(TooSlow(f"the head took longer than {self._front.limits.head_time:g} s"))
        elif not self._fast_enough(now):
            self._refuse(TooSlow("the body came too slowly"))

    def _fast_enough(self, now: float) -> bool:
        """Whether the body may take longer; if so, until when it need not be asked again."""
        limits = self._front.limits
        got = self._filled if self._chunks is None else len(self._chunks.body)
        self._until = self._since + limits.body_time + got / limits.least_rate
        return self._until >= now

    # ── from bytes to a request ───────────────────────────────────────────────────────────────────────

    def _advance(self) -> None:
        """Takes up what has arrived, as far as it goes."""
        if self._advancing:  # an answer that was there at once comes by here again
            return
        self._advancing = True
        try:
            while self._phase == _IDLE and self._tail and not self._choked and self._take_head():
                pass
        finally:
            self._advancing = False
        if self._choked and self._tail:
            self._pause()
        elif self._phase in (_IDLE, _FILLING, _CHUNKS, _LINGER):
            self._resume()

    def _take_head(self) -> bool:
        """Takes up a head and, where it is there, the body; returns whether there was a whole head."""
        tail = self._tail
        if self._whole >= 0 and tail.startswith(self._block):
            del tail[: len(self._block)]
            self._take_body()
            return True
        self._whole = -1
        try:
            while tail.startswith(b"\r\n"):  # an empty line before a request is read over (RFC 9112, 2.2)
                del tail[:2]
            end = tail.find(END, self._searched)
            if end < 0:
                might_become_a_head(tail, self._front.limits, self._searched)
                self._searched = max(0, len(tail) - 3)
                return False
            self._searched = 0
            block = bytes(tail[: end + 4])
            del tail[: end + 4]
            self._head = None
            self._head = head = read_head(block, self._front.limits)
        except Refused as error:
            self._refuse(error)
            return False
        try:
            self._find(head)
        except Refused as error:
            self._turn_away(head, error)
            return True
        self._block = block
        if not head.chunked and not head.expects:
            self._whole = len(block) + head.length
        self._take_body()
        return True

    def _find(self, head: Head) -> None:
        """Whom the request is for, and whether it may come in."""
        front = self._front
        self._route, self._match = front.table.find(head.method, head.path)
        front.authorise(self._route, head.headers)
        self._asked = None
        if self._route.handler is None:
            self._asked = front.inference.asked(self._match, head.headers)
        if head.length > front.limits.body:
            raise BodyTooLarge(f"the body has {head.length:,} bytes, at most {front.limits.body:,} are taken")

    def _turn_away(self, head: Head, error: Refused) -> None:
        """Refuses a request whose head is sound: the connection may go on where the body is there already."""
        if head.chunked or head.length > len(self._tail):
            self._refuse(error)
            return
        del self._tail[: head.length]
        reply = refusal(error)
        if head.path == b"*" or (head.method == "OPTIONS" and reply.status == 405):
            reply = Reply(204, headers=reply.headers)
        self._phase = _BUSY
        self._answer(reply)

    def _take_body(self) -> None:
        head, tail, front = self._head, self._tail, self._front
        assert head is not None
        length = head.length
        if not head.chunked and len(tail) >= length:
            body = bytes(tail[:length])
            del tail[:length]
            self._start(body)
            return
        self._since = front.now
        self._until = front.now + front.limits.body_time
        if head.chunked:
            self._chunks = Chunks(front.limits.body)
            self._phase = _CHUNKS
        elif self._may_come(length) and self._hold(length):
            self._body = _room(length, 0 if self._asked is None else self._asked.header_length or 0)
            self._filled = len(tail)
            self._body[: self._filled] = tail
            self._phase = _FILLING
        else:
            return
        if head.expects and not tail:
            self._transport.write(CONTINUE)
        data = bytes(tail)
        tail.clear()
        if data and head.chunked:
            self._chunk(data)

    def _chunk(self, data: bytes) -> None:
        chunks = self._chunks
        assert chunks is not None
        try:
            rest = chunks.feed(data)
        except Refused as error:
            self._refuse(error)
            return
        if not self._hold(len(chunks.body)):
            return
        if chunks.complete:
            self._chunks = None
            self._tail += rest
            self._phase = _IDLE
            self._start(memoryview(chunks.body))
            self._advance()

    def _may_come(self, nbytes: int) -> bool:
        """Refuses a request before its body comes where it would be refused afterwards."""
        if self._asked is not None:
            try:
                self._front.inference.check(self._asked, nbytes)
            except HotlapError as error:
                self._front.inference.refused(self._asked, error, perf_counter_ns())
                self._refuse(error)
                return False
        return True

    def _hold(self, nbytes: int) -> bool:
        """Counts a body's bytes until it is answered; refuses it where there are too many already."""
        front = self._front
        if front.bodies - self._held + nbytes > front.limits.bodies:
            self._refuse(Overloaded(f"bodies of {front.limits.bodies:,} bytes arrive or wait already"))
            return False
        front.bodies += nbytes - self._held
        self._held = nbytes
        return True

    def _release(self) -> None:
        self._front.bodies -= self._held
        self._held = 0

    # ── from a request to its answer ──────────────────────────────────────────────────────────────────

    def _start(self, body: bytes | memoryview) -> None:
        self._phase = _BUSY
        self._until = _NEVER
        front = self._front
        asked, arrived = self._asked, perf_counter_ns()
        if asked is not None:
            if asked.encoding:
                self._aside(
                    len(body) > _LONG_PACKED,
                    lambda: front.inference.unpacked(asked, body),
                    lambda plain: self._submit(asked, plain, arrived),
                    lambda error: self._refuse_inference(asked, error, arrived),
                )
            else:
                self._submit(asked, body, arrived)
            return
        try:
            assert self._route is not None and self._route.handler is not None and self._head is not None
            reply = self._route.handler(front.engine, self._match, body, self._head.headers)
        except Exception as error:  # noqa: BLE001  whatever happens, the client is told
            reply = refusal(error)
        self._answer(reply)

    def _submit(self, asked: Asked, body: bytes | memoryview, arrived: int) -> None:
        front = self._front
        try:
            self._job = job = front.inference.begin(asked, body, arrived, self._done)
            front.engine.submit(job)
        except Exception as error:  # noqa: BLE001  whatever happens, the client is told
            self._job = None
            self._refuse_inference(asked, error, arrived)

    def _refuse_inference(self, asked: Asked, error: BaseException, arrived: int) -> None:
        self._front.inference.refused(asked, error, arrived)
        self._answer(refusal(error))

    def _computed(self, job: Job) -> None:
        """The engine has an answer, or the reason why there is none."""
        self._job = None
        asked, inference = self._asked, self._front.inference
        assert asked is not None
        try:
            reply = inference.finish(asked, job)
        except Exception as error:  # noqa: BLE001  whatever happens, the client is told
            self._refuse_inference(asked, error, job.timeline.arrived)
            return
        if asked.accepted and reply.status == 200 and reply.nbytes >= _WORTH_PACKING:
            self._aside(
                reply.nbytes > _LONG_PLAIN,
                lambda: inference.packed(asked, reply),
                self._answer,
                lambda error: self._answer(refusal(error)),
            )
        else:
            self._answer(reply)

    def _aside(
        self,
        long: bool,
        work: Callable[[], Any],
        then: Callable[[Any], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        """Does work, in a thread where it is long: the event loop has other clients too."""
        if not long:
            try:
                result = work()
            except Exception as error:  # noqa: BLE001  whatever happens, the client is told
                failed(error)
            else:
                then(result)
            return

        def over(future: asyncio.Future[Any]) -> None:
            error = None if future.cancelled() else future.exception()
            if self._phase != _BUSY or future.cancelled():
                return  # the client has gone
            if error is not None:
                failed(error)
            else:
                then(future.result())

        asyncio.get_running_loop().run_in_executor(None, work).add_done_callback(over)

    def _answer(self, reply: Reply) -> None:
        head, front = self._head, self._front
        keep = head is not None and head.keep_alive and not front.closing and not self._half
        line = b""
        if not keep:
            line = _CLOSE
        elif head is not None and head.old:
            line = _KEEP
        self._write(written(reply, front.date, line, head_only=head is not None and head.method == "HEAD"))
        if self._held:
            self._release()
        if not keep:
            self._close(unread=bool(self._tail))
            return
        self._phase = _IDLE
        self._until = front.now + front.limits.idle_time
        if self._tail or self._paused:
            if self._tail:
                self._until = front.now + front.limits.head_time
            self._advance()

    def _write(self, buffers: list[bytes | memoryview]) -> None:
        if len(buffers) == 1:
            self._transport.write(buffers[0])
        else:
            self._transport.writelines(buffers)

    def _refuse(self, error: BaseException) -> None:
        """Says why, and ends the connection: what the client sends next cannot be told from a request."""
        head_only = self._head is not None and self._head.method == "HEAD"
        self._write(written(refusal(error), self._front.date, _CLOSE, head_only=head_only))
        self._release()
        self._close(unread=True)

    def _close(self, *, unread: bool = False) -> None:
        front = self._front
        self._tail.clear()
        self._body = self._chunks = None
        if unread and not self._half:
            # A socket that is closed while something is unread resets the connection, answer and all.
            self._phase = _LINGER
            self._until = front.now + front.limits.linger_time
            if self._transport.can_write_eof():
                self._transport.write_eof()
            self._resume()
            return
        self._phase = _CLOSING
        self._until = front.now + front.limits.write_time
        self._transport.close()

    def _pause(self) -> None:
        if not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def _resume(self) -> None:
        if self._paused:
            self._paused = False
            self._transport.resume_reading()


def _room(length: int, header_length: int) -> memoryview:
    """Room for a body, whose tensors then lie aligned: the first one starts behind the JSON header. It is not
    filled with zeros, and untouched pages take no memory."""
    room = np.empty(length + _ALIGNMENT, np.uint8)
    start = -(room.ctypes.data + header_length) % _ALIGNMENT
    return room[start : start + length].data
