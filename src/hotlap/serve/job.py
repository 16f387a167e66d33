"""One accepted inference on its way through the server: `Job`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hotlap.wire import InferRequest

if TYPE_CHECKING:
    from hotlap.serve.served import Served

__all__ = ["Job", "Timeline"]


@dataclass(slots=True)
class Timeline:
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


@dataclass(eq=False, slots=True)
class Job:
    """One accepted inference. Made, finished and dropped on the event loop's thread; run on a lane's.

    Attributes:
        model: what runs it.
        request: what is asked.
        done: called once, on the loop's thread, when `outputs` or `error` is there; never after `dropped`.
        rows: rows along the model's batch axis; 0: it must not share a call with others.
        deadline: `time.perf_counter` seconds after which nobody wants the answer; None: never.
        outputs: output name to array; None: not yet, or an error.
        error: why there is none.
        dropped: the client has gone: don't run it, and tell nobody.
        timeline: for metrics and the Server-Timing header.
        batch: how many jobs shared the call.
    """

    model: Served
    request: InferRequest
    done: Callable[[Job], None]
    rows: int = 0
    deadline: float | None = None
    outputs: dict[str, Any] | None = None
    error: BaseException | None = None
    dropped: bool = False
    timeline: Timeline = field(default_factory=Timeline)
    batch: int = 1
