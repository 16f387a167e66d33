"""What the parent and the measuring process tell each other, through files: `Request` and `Outcome`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import msgspec

from hotlap.bench.result import ProcessResult
from hotlap.bench.target import Target
from hotlap.bench.workload import Workload
from hotlap.errors import HotlapError

__all__ = ["NO_ROOM", "Outcome", "Request", "answer_and_end", "hand_back"]

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


def answer_and_end(work: Callable[[], ProcessResult | None], file: str) -> NoReturn:
    """The end of every child: do the work, write its `Outcome` or its error to `file`, and leave."""
    try:
        outcome = Outcome(done=True, result=work())
    except HotlapError as error:
        outcome = Outcome(error="; ".join(str(error).splitlines()), kind=type(error).__name__)
    except Exception as error:  # noqa: BLE001  it crosses a process border: the parent raises it again
        outcome = Outcome(error=f"{type(error).__name__}: {' '.join(str(error).split())}")
    code = hand_back(outcome, file)
    sys.stderr.flush()
    os._exit(code)  # some providers crash while they unload, after the answer is there


def hand_back(outcome: Outcome, file: str) -> int:
    """Writes the answer, and returns the exit code: the parent reads "no room" from it alone."""
    try:
        Path(file).write_bytes(msgspec.msgpack.encode(outcome))
    except OSError:
        return NO_ROOM
    return 0
