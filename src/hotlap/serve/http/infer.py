"""An inference request over HTTP: bytes to a job, and a job to the answer. `Inference`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter_ns
from typing import TYPE_CHECKING

from hotlap.errors import HotlapError, ModelError
from hotlap.serve.http.limits import Limits
from hotlap.serve.http.named import served
from hotlap.serve.http.respond import Reply, refusal
from hotlap.serve.http.routes import Headers, Match, Route
from hotlap.serve.job import Job, Timeline
from hotlap.serve.served import Served
from hotlap.serve.status import NOT_NEAR, Forbidden, Malformed, Refused, Unsupported
from hotlap.wire import (
    ENCODINGS,
    InferRequest,
    Signature,
    decode_infer,
    deflate,
    encode_infer,
    inflate,
)

if TYPE_CHECKING:
    from hotlap.serve.engine import Engine
    from hotlap.serve.shared import SharedMemory

__all__ = ["ROUTES", "Asked", "Inference"]

ROUTES = (
    Route("POST", "/v2/models/{model}/infer", None),
    Route("POST", "/v2/models/{model}/versions/{version}/infer", None),
)

_NUMBER = re.compile(rb"[0-9]{1,15}")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the head of an inference request says; the same for all requests with that head.

    Attributes:
        model, version: of the address; None: whichever version is served.
        header_length: as `decode_infer` takes it.
        encoding: that the body is packed in; "": it is not.
        accepted: encoding that the answer is to be packed in; "": none.
        near: it may name regions of shared memory, which somebody else may have registered.
    """

    model: str
    version: str | None
    header_length: int | None
    encoding: str
    accepted: str
    near: bool


@dataclass(frozen=True, slots=True)
class _Door:
    """One model, ready for requests."""

    model: Served
    signature: Signature

    @classmethod
    def of(cls, model: Served) -> _Door:
        try:
            runner = model.runner
            return cls(model, Signature.of(runner.inputs, runner.outputs, labels=model.labels))
        except ModelError as error:
            raise ModelError(f"{model.name}: {error}") from error


class Inference:
    """Reads and answers inference requests."""

    def __init__(self, engine: Engine, limits: Limits, shared: SharedMemory) -> None:
        """
        Raises:
            ModelError: the protocol cannot carry what a model takes or gives.
        """
        self._engine, self._limits, self._shared = engine, limits, shared
        self._doors = {m.name: _Door.of(m) for m in engine.models.values()}

    def asked(self, match: Match, headers: Headers, *, near: bool) -> Asked:
        """Reads what of the head concerns an inference. Counts what it refuses.

        Args:
            near: as `Asked.near`.

        Raises:
            Malformed: a length that is none.
            Unsupported: the body is packed in a way that is not read.
        """
        try:
            return self._read_head(match, headers, near)
        except Refused as error:
            self._refused(match["model"], error, perf_counter_ns())
            raise

    def _read_head(self, match: Match, headers: Headers, near: bool) -> Asked:
        length = headers.get(b"inference-header-content-length")
        if length is not None and not _NUMBER.fullmatch(length):
            raise Malformed("the header Inference-Header-Content-Length is no number")
        encoding = _coding(headers.get(b"content-encoding", b""))
        if encoding and encoding not in ENCODINGS:
            raise Unsupported(f"Content-Encoding: expected {' or '.join(ENCODINGS)}, got {encoding[:64]}")
        # A lone coding is a wish; the lists that HTTP libraries send by themselves are not: numbers hardly
        # shrink, and packing them takes longer than most networks need to carry them.
        accepted = _coding(headers.get(b"accept-encoding", b""))
        return Asked(
            match["model"],
            match.get("version"),
            None if length is None else int(length),
            encoding,
            accepted if accepted in ENCODINGS else "",
            near,
        )

    def check(self, asked: Asked, nbytes: int) -> None:
        """Whether a request with a body of so many bytes would be refused now.

        Raises:
            Unknown: no such model or version.
            NotReady, Overloaded: as `Engine.submit`.
        """
        self._engine.check(self._door(asked).model, nbytes)

    def unpacked(self, asked: Asked, body: bytes | memoryview) -> bytes:
        """The body as it was before it was packed. From any thread.

        Raises:
            InputError, TooLarge: it is not packed so, or becomes larger than a body may be.
        """
        return inflate(body, asked.encoding, self._limits.body)

    def packed(self, asked: Asked, reply: Reply) -> Reply:
        """The answer in the coding that is wished for. From any thread."""
        more = ((b"Content-Encoding", asked.accepted.encode()), (b"Vary", b"Accept-Encoding"))
        body = deflate(reply.body, asked.accepted)
        return Reply(reply.status, [body], (*reply.headers, *more), reply.content_type)

    def together(self, asked: Asked) -> int:
        """With how many a request is best taken up, itself included, if they come in the same turn."""
        door = self._doors.get(asked.model)
        return 1 if door is None else door.model.together

    def begin(self, asked: Asked, body: bytes | memoryview, arrived: int, done: Callable[[Job], None]) -> Job:
        """A job for the engine.

        Args:
            body: unpacked.
            arrived: when the last byte was there, `time.perf_counter_ns`.
            done: as `Job.done`.

        Raises:
            Unknown: no such model or version.
            InputError, TooLarge: the request cannot be read, or does not fit the model.
            Forbidden: it names regions of shared memory, and must not.
        """
        door = self._doors.get(asked.model)
        if door is None or asked.version is not None:
            door = self._door(asked)
        request = decode_infer(body, asked.header_length, door.signature, most_elements=self._limits.elements)
        job = Job(door.model, request, done, timeline=Timeline(arrived, perf_counter_ns()))
        if request.regions:
            _check_near(asked)
            self._read_checked(request, door.signature)
            job.read = self._shared.read_into
        for wanted in request.outputs:
            if wanted.region is not None:
                _check_near(asked)
                self._shared.check(wanted.region)
        return job

    def finish(self, asked: Asked, job: Job) -> Reply:
        """The answer to a job that is over."""
        if job.error is not None or job.outputs is None:
            return refusal(job.error or HotlapError("the model gave no answer"))
        model, signature = job.model, self._doors[asked.model].signature
        written = self._write(job, signature) if job.request.outputs else ()
        body, length = encode_infer(job.request, signature, model.name, model.version, job.outputs, written)
        finished = perf_counter_ns()
        timeline = job.timeline
        model.statistics.answered(timeline, finished)
        timing = (b"Server-Timing", _timing(timeline, finished))
        if length is None:
            return Reply(200, body, (timing,))
        where = (b"Inference-Header-Content-Length", b"%d" % length)
        return Reply(200, body, (where, timing), b"application/octet-stream")

    def refused(self, asked: Asked, error: BaseException, arrived: int) -> None:
        """Counts a request that never became a job, or whose answer could not be told."""
        self._refused(asked.model, error, arrived)

    def _refused(self, name: str, error: BaseException, arrived: int) -> None:
        model = self._engine.models.get(name)
        if model is not None:
            model.statistics.refused(error, arrived)

    def _door(self, asked: Asked) -> _Door:
        match = {"model": asked.model}
        if asked.version is not None:
            match["version"] = asked.version
        return self._doors[served(self._engine, match).name]

    def _read_checked(self, request: InferRequest, signature: Signature) -> None:
        """Reads what not all bytes are values of (text, flags); numbers are read by whoever runs the job."""
        checked = [n for n in request.regions if not signature.inputs[n].any_bytes]
        for name in checked:
            data = self._shared.read(request.regions[name])
            request.feed[name] = signature.tensor(name, data, request.shapes[name])
        if checked:
            request.regions = {n: r for n, r in request.regions.items() if n not in checked}

    def _write(self, job: Job, signature: Signature) -> list[str]:
        """Puts outputs where the request wants them in shared memory; returns which."""
        written = []
        for wanted in job.request.outputs:
            if wanted.region is not None and job.outputs is not None:
                data = signature.packed(wanted.name, job.outputs[wanted.name])
                self._shared.write(wanted.region, [data])
                written.append(wanted.name)
        return written


def _check_near(asked: Asked) -> None:
    if not asked.near:
        raise Forbidden(NOT_NEAR)


def _coding(value: bytes) -> str:
    """The one content coding that a header names; "" where it names none, or the one that changes nothing."""
    name = value.decode("latin-1").strip().lower().removeprefix("x-")
    return "" if name == "identity" else name


_MICROSECONDS = [b"%.3f" % (us / 1000) for us in range(1001)]
"""Whole microseconds as milliseconds: formatting a number takes longer than looking it up."""


def _timing(timeline: Timeline, finished: int) -> bytes:
    """The Server-Timing header, in milliseconds (https://www.w3.org/TR/server-timing/)."""
    arrived, decoded = timeline.arrived, timeline.decoded
    started, computed = timeline.started, timeline.computed
    if 0 <= finished - arrived < 1_000_000:
        us = _MICROSECONDS
        return b"parse;dur=%b, queue;dur=%b, compute;dur=%b, encode;dur=%b" % (
            us[(decoded - arrived + 500) // 1000],
            us[(started - decoded + 500) // 1000],
            us[(computed - started + 500) // 1000],
            us[(finished - computed + 500) // 1000],
        )
    return b"parse;dur=%.3f, queue;dur=%.3f, compute;dur=%.3f, encode;dur=%.3f" % (
        (decoded - arrived) / 1e6,
        (started - decoded) / 1e6,
        (computed - started) / 1e6,
        (finished - computed) / 1e6,
    )
