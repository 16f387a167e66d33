"""One accepted inference on its way through the server: `Job`."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from hotlap.wire import InferRequest, Region

if TYPE_CHECKING:
    from hotlap.serve.batch import Call
    from hotlap.serve.served import Served

__all__ = ["Job", "Timeline"]


class Timeline(Struct, gc=False):
    """When a job got where, `time.perf_counter_ns`; 0: not yet.

    Attributes:
        arrived: the last byte of the request was read.
        decoded: its tensors were there.
        started: a lane took it up.
        computed: the model had answered.
    """

    arrived: int = 0
    decoded: int = 0
    started: int = 0
    computed: int = 0


class Job(Struct, eq=False):
    """One accepted inference. Made, finished and dropped on the event loop's thread; run on a lane's.

    It has many fields, and a struct fills them in a quarter of a dataclass's time.

    Attributes:
        model: what runs it.
        request: what is asked.
        done: called once, on the loop's thread, when `outputs` or `error` is there; never after `dropped`.
        read: reads a piece of shared memory into an array (C-contiguous, writable), in whatever thread runs
            the job; needed where the request names regions. What it raises is the job's error.
        deadline: `time.perf_counter` seconds after which nobody wants the answer; None: as the request's
            timeout says, or the plan's.
        outputs: wanted output name to array; None: not yet, or an error.
        error: why there is none.
        dropped: the client has gone: it is not run, and nobody is told.
        timeline: for metrics and the Server-Timing header.
        batch: how many jobs shared the call.
        rows: along the model's axis of rows; 0: it must not share a call with others. Set by the engine.
        key: equal for jobs that may share a call; None: with none. Set by the engine.
        level: of priority, 0 first. Set by the engine.
        over: it was answered or dropped: nothing more happens to it.
        call: the call that it is part of; None: it waits.
        timer: fires at the deadline.
    """

    model: Served
    request: InferRequest
    done: Callable[[Job], None]
    read: Callable[[Region, Any], None] | None = None
    deadline: float | None = None
    outputs: dict[str, Any] | None = None
    error: BaseException | None = None
    dropped: bool = False
    timeline: Timeline = field(default_factory=Timeline)
    batch: int = 1
    rows: int = 0
    key: Hashable = None
    level: int = 0
    over: bool = False
    call: Call | None = None
    timer: Any = None

    @property
    def nbytes(self) -> int:
        """Of the inputs."""
        return self.request.nbytes
