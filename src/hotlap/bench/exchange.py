"""What the parent and the measuring process tell each other, through files: `Request` and `Outcome`."""

from __future__ import annotations

from pathlib import Path

import msgspec

from hotlap.bench.result import ProcessResult
from hotlap.bench.target import Target
from hotlap.bench.workload import Workload

__all__ = ["NO_ROOM", "Outcome", "Request", "hand_back"]

NO_ROOM = 74
"""The exit code of a child that could not write its answer (EX_IOERR of sysexits.h)."""


class Request(msgspec.Struct, kw_only=True):
    """What to measure (JSON).

    Attributes:
        target, workload: what and how long.
        feeds: a .npz file or a folder of them; with `make`, the folder that the made feed is written to.
        rows: each .npz holds many feeds along axis 0.
        turn: which round this is; the order of the feeds hangs on it.
        make: measure nothing, make feeds that fit the signature and run.
        limits: with `make`, input name to how many ids there are, where that is known.
        started: `time.time` when the process was about to be started; 0: unknown.
        outcome: the file to write the answer to.
    """

    target: Target
    workload: Workload
    feeds: str
    rows: bool = False
    turn: int = 0
    make: bool = False
    limits: dict[str, int] = {}
    started: float = 0.0
    outcome: str


class Outcome(msgspec.Struct, kw_only=True):
    """The answer (msgpack): done, with a result if there is one; or one line of error and its kind's name."""

    done: bool = False
    result: ProcessResult | None = None
    error: str = ""
    kind: str = ""


def hand_back(outcome: Outcome, file: str) -> int:
    """Writes the answer, and returns the exit code: the parent reads "no room" from it alone."""
    try:
        Path(file).write_bytes(msgspec.msgpack.encode(outcome))
    except OSError:
        return NO_ROOM
    return 0
