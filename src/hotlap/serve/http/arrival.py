"""What arrives on a connection, up to a whole request: `Arrival`.

It takes up one request at a time. What a client sends ahead waits unread in a buffer of bounded size, then in
the client's own system.
"""

from __future__ import annotations

import asyncio
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from hotlap.errors import HotlapError
from hotlap.serve.http.chunked import Chunks
from hotlap.serve.http.head import END, Head, might_become_a_head, read_head
from hotlap.serve.http.respond import CONTINUE, Reply, refusal
from hotlap.serve.http.room import Room, aligned
from hotlap.serve.status import BodyTooLarge, Refused

if TYPE_CHECKING:
    from hotlap.serve.http.front import Front
    from hotlap.serve.http.infer import Asked
    from hotlap.serve.http.routes import Match, Route

__all__ = ["BUSY", "CHUNKS", "CLOSED", "CLOSING", "FILLING", "IDLE", "LINGER", "Arrival"]

# Where a connection is.
IDLE = 0  # waits for a head, or for the rest of one
FILLING = 1  # the body's bytes go straight to where they will be read
CHUNKS = 2
BUSY = 3  # the answer is being made
LINGER = 4  # the answer is written; what still comes is thrown away, so that it is not lost to a reset
CLOSING = 5
CLOSED = 6


class Arrival(asyncio.BufferedProtocol):
    """The half of a connection that reads. The other half says what happens to a request that is whole."""

    __slots__ = (
        "_advancing", "_asked", "_block", "_body", "_choked", "_chunks", "_filled", "_front", "_half",
        "_head", "_match", "_paused", "_phase", "_room", "_route", "_searched", "_since", "_tail",
        "_transport", "_until", "_whole",
    )  # fmt: skip

    def __init__(self, front: Front) -> None:
        self._front = front
        self._transport: Any = None
        self._phase = IDLE
        self._until = self._since = 0.0
        self._tail = bytearray()  # what has arrived and was not taken up
        self._searched = 0  # up to where no head ends in it
        self._advancing = self._choked = self._paused = False
        self._half = False  # the client sends no more
        self._room = Room(front)
        # The last head: clients send the same one again and again, so it is compared before it is read.
        self._block = b""
        self._whole = -1  # bytes of that head and its body
        self._head: Head | None = None
        self._route: Route | None = None
        self._match: Match = {}
        self._asked: Asked | None = None
        self._body: Any = None
        self._filled = 0
        self._chunks: Chunks | None = None

    # ── what the other half does ──────────────────────────────────────────────────────────────────────

    def _start(self, body: bytes | memoryview) -> None:
        """Makes the answer to the request that has arrived."""
        raise NotImplementedError

    def _answer(self, reply: Reply) -> None:
        """Writes it; the connection goes on, or ends."""
        raise NotImplementedError

    def _refuse(self, error: BaseException) -> None:
        """Says why, and ends the connection."""
        raise NotImplementedError

    def _close(self, *, unread: bool = False) -> None:
        """Ends the connection when all is written."""
        raise NotImplementedError

    # ── bytes ─────────────────────────────────────────────────────────────────────────────────────────

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._phase == FILLING:
            rest: memoryview = self._body[self._filled :]
            return rest
        return self._front.view

    def buffer_updated(self, nbytes: int) -> None:
        front, phase = self._front, self._phase
        if phase == IDLE:
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
        elif phase == FILLING:
            self._filled += nbytes
            if self._hold(self._filled) and self._filled == len(self._body):
                body, self._body = self._body, None
                self._start(body)
        elif phase == CHUNKS:
            self._chunk(bytes(front.view[:nbytes]))
        elif phase == BUSY:
            self._tail += front.view[:nbytes]
            self._pause()

    def pause_writing(self) -> None:
        self._choked = True

    def resume_writing(self) -> None:
        self._choked = False
        if self._room.owed:
            self._room.owe(0)
        if self._phase == IDLE:  # while the answer was being taken nobody's time ran
            limits = self._front.limits
            self._until = self._front.now + (limits.head_time if self._tail else limits.idle_time)
        self._advance()

    def _pause(self) -> None:
        if not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def _resume(self) -> None:
        if self._paused:
            self._paused = False
            self._transport.resume_reading()

    # ── a head ────────────────────────────────────────────────────────────────────────────────────────

    def _advance(self) -> None:
        """Takes up what has arrived, as far as it goes."""
        if self._advancing:  # an answer that was there at once comes by here again
            return
        self._advancing = True
        try:
            while self._phase == IDLE and self._tail and not self._choked and self._take_head():
                pass
        finally:
            self._advancing = False
        if self._choked and self._tail:
            self._pause()
        elif self._half and self._phase == IDLE:
            self._close()
        elif self._phase in (IDLE, FILLING, CHUNKS, LINGER):
            self._resume()

    def _take_head(self) -> bool:
        """Takes up a head and, where it is there, the body; returns whether there was a whole head."""
        tail = self._tail
        if self._whole >= 0 and tail.startswith(self._block):
            del tail[: len(self._block)]
            self._take_body()
            return True
        self._whole = -1
        self._head = None  # of the request before: how that was answered says nothing of this one
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
        self._asked = None  # of the request before, which must not be counted for this one
        self._route, self._match = front.table.find(head.method, head.path)
        near = front.near(head.headers, unix=self._unix())
        front.authorise(self._route, head.headers, near=near)
        if self._route.handler is None:
            self._asked = front.inference.asked(self._match, head.headers, near=near)
        if head.length > front.limits.body:
            error = BodyTooLarge(
                f"the body has {head.length:,} bytes, at most {front.limits.body:,} are taken"
            )
            self._count(error)
            raise error

    def _unix(self) -> bool:
        """Whether the client came through a Unix socket."""
        return isinstance(self._transport.get_extra_info("sockname"), str | bytes)

    def _turn_away(self, head: Head, error: Refused) -> None:
        """Refuses a request whose head is sound: the connection may go on where the body is there already."""
        if not self._skip_body(head):
            self._refuse(error)
            return
        reply = refusal(error)
        if head.path == b"*" or (head.method == "OPTIONS" and reply.status == 405):
            reply = Reply(204, headers=reply.headers)
        self._phase = BUSY
        self._answer(reply)

    def _skip_body(self, head: Head) -> bool:
        """Throws a body away, where it is there as a whole; returns whether it is."""
        tail = self._tail
        if not head.chunked:
            there = head.length <= len(tail)
            if there:
                del tail[: head.length]
            return there
        chunks = Chunks(self._front.limits.body)
        try:
            tail[:] = chunks.feed(bytes(tail))
        except Refused:
            return False
        return chunks.complete

    # ── a body ────────────────────────────────────────────────────────────────────────────────────────

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
            self._take_chunks(head)
            return
        if not (self._may_come(length) and self._fits(length)):
            return
        self._body = aligned(length, 0 if self._asked is None else self._asked.header_length or 0)
        self._filled = len(tail)
        self._body[: self._filled] = tail
        self._phase = FILLING
        self._room.hold(self._filled)  # it fits, as the whole does
        if head.expects and not tail:
            self._transport.write(CONTINUE)
        tail.clear()

    def _take_chunks(self, head: Head) -> None:
        """A body that is there as a whole is treated as any: its request may be refused, and another come."""
        chunks = Chunks(self._front.limits.body)
        data = bytes(self._tail)
        self._tail.clear()
        if self._feed(chunks, data):
            self._start(memoryview(chunks.body))
        elif self._phase == IDLE and self._may_come(0) and self._hold(len(chunks.body)):
            self._chunks = chunks
            self._phase = CHUNKS
            if head.expects and not data:
                self._transport.write(CONTINUE)

    def _chunk(self, data: bytes) -> None:
        chunks = self._chunks
        assert chunks is not None
        complete = self._feed(chunks, data)
        if self._phase == CHUNKS and self._hold(len(chunks.body)) and complete:
            self._chunks = None
            self._phase = IDLE
            self._start(memoryview(chunks.body))
            self._advance()

    def _feed(self, chunks: Chunks, data: bytes) -> bool:
        """Returns whether the body is complete. What is none is refused: the connection's phase changes."""
        try:
            self._tail += chunks.feed(data)
        except Refused as error:
            self._count(error)
            self._refuse(error)
        return chunks.complete

    def _fast_enough(self, now: float) -> bool:
        """Whether the body may take longer; if so, until when it need not be asked again."""
        limits = self._front.limits
        got = self._filled if self._chunks is None else len(self._chunks.body)
        self._until = self._since + limits.body_time + got / limits.least_rate
        return self._until >= now

    def _may_come(self, nbytes: int) -> bool:
        """Refuses a request before its body comes where it would be refused afterwards."""
        if self._asked is not None:
            try:
                self._front.inference.check(self._asked, nbytes)
            except HotlapError as error:
                self._count(error)
                self._refuse(error)
                return False
        return True

    def _count(self, error: BaseException) -> None:
        """Counts a request that ends before it was whole, where it is one for a model."""
        if self._asked is not None:
            self._front.inference.refused(self._asked, error, perf_counter_ns())

    def _fits(self, nbytes: int) -> bool:
        """Refuses a request whose body has no room beside the others."""
        error = self._room.overloaded(nbytes)
        if error is not None:
            self._count(error)
            self._refuse(error)
        return error is None

    def _hold(self, nbytes: int) -> bool:
        """Counts a body's bytes, as they come; refuses it where there are too many."""
        if not self._fits(nbytes):
            return False
        self._room.hold(nbytes)
        return True
