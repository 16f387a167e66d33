"""One fresh process that measures one target once: started, watched, and always ended."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Protocol

import msgspec

from hotlap import errors
from hotlap.bench.exchange import NO_ROOM, Outcome, Request
from hotlap.bench.result import ProcessResult
from hotlap.bench.target import Target
from hotlap.bench.workload import Workload
from hotlap.errors import HotlapError, StorageError, TargetFailed, UsageError

__all__ = ["ask", "make_feeds", "run_once", "temporary_folder"]

# -P: a file of the working folder must not stand in for a module.
PYTHON = (sys.executable, "-P", "-m")
CHILD = "hotlap.bench.start"
_LONGEST = 1e6  # seconds; more milliseconds than poll can count
RECORDING = "HOTLAP_RECORD"
"""What is measured is no traffic: the variables that start a recording are taken away."""


def run_once(
    target: Target,
    workload: Workload,
    feeds_path: str | Path | None = None,
    timeout: float | None = None,
    *,
    rows: bool = False,
    turn: int = 0,
) -> ProcessResult:
    """Measure a target in one fresh process and wait for it.

    Args:
        target: what to open.
        workload: how long to warm up and to measure.
        feeds_path: a .npz file (one feed) or a folder of them; None: `make_feeds` makes one first.
        timeout: seconds after which the process counts as hung; None: `Workload.allowance`.
        rows: each .npz holds many feeds along axis 0.
        turn: the feeds are called in an order of their own for each turn, so that a process which gets
            through a part of them only does not always get the same part.

    Raises:
        TargetFailed: it crashed, hung or refused, with its reason in one line. Where the process raised one
            of hotlap's own errors, that is the cause (``__cause__``).
        StorageError: no room for the temporary files.
    """
    with temporary_folder() as folder:
        feeds = make_feeds(target, workload, folder) if feeds_path is None else Path(feeds_path)
        request = Request(
            target=target,
            workload=workload,
            feeds=str(feeds.absolute()),
            rows=rows,
            turn=turn,
            outcome=str(folder / "outcome"),
            started=time.time(),
        )
        outcome = ask(
            CHILD, request, folder, target.label, workload.allowance if timeout is None else timeout
        )
    assert outcome.result is not None
    return outcome.result


def make_feeds(
    target: Target, workload: Workload, folder: Path, limits: Mapping[str, int] | None = None
) -> Path:
    """Make feeds that fit the target's signature and run, in a process of its own.

    The measuring processes then read it, so that their first call is the first.

    Args:
        target: whose signature.
        workload: its seed is that of the random values, its shapes are theirs; without shapes it is one feed.
        folder: where to write; returned is the folder that holds the feeds.
        limits: input name to how many ids there are, where that is known.

    Raises:
        TargetFailed: as for `run_once`; also where no guess at a feed ran.
    """
    feeds = folder / "feeds"
    request = Request(
        target=target,
        workload=workload,
        feeds=str(feeds),
        make=True,
        limits=dict(limits or {}),
        outcome=str(folder / "made"),
    )
    ask(CHILD, request, folder, target.label, workload.allowance)
    return feeds


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that is gone after the block, however the block ends.

    Raises:
        StorageError: there is no room for it.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix="hotlap-bench-"))
    except OSError as error:
        raise StorageError(f"no room for temporary files: {error.strerror or error}") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Question(Protocol):
    """What a child is asked: a struct that says which file it must write its `Outcome` to."""

    outcome: str


def ask(module: str, request: Question, folder: Path, label: str, allowed: float) -> Outcome:
    """Run ``python -m MODULE REQUEST``, wait, and read the `Outcome` that it wrote.

    Args:
        module: the child; it gets the path of the request (JSON) and must watch its standard input (`child`).
        request: a struct.
        folder: for the request and for what the child says.
        label: what the child is about, for messages.
        allowed: seconds after which it counts as hung.

    Raises:
        TargetFailed: as for `run_once`.
        StorageError: no room for the temporary files.
        UsageError: a path that the request names is not UTF-8.
    """
    try:
        question = msgspec.json.encode(request)
    except UnicodeEncodeError as error:
        raise UsageError(f"{label}: a path is not UTF-8; rename the file or its folder") from error
    try:
        (folder / "request.json").write_bytes(question)
        code = _wait_for_child(module, folder, label, allowed)
    except OSError as error:
        raise StorageError(f"{folder}: no process could be started: {error.strerror or error}") from error
    return _read_outcome(Path(request.outcome), folder / "stderr", label, code)


def _wait_for_child(module: str, folder: Path, label: str, allowed: float) -> int:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(RECORDING)}
    environment["PYTHONHASHSEED"] = "0"
    with (folder / "stderr").open("wb") as stderr:
        child = subprocess.Popen(
            [*PYTHON, module, str(folder / "request.json")],
            stdin=subprocess.PIPE,  # never written to: its end tells the child that we are gone
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            env=environment,
            start_new_session=True,  # an interrupt at the terminal reaches us alone, and we end the child
        )
    try:
        return _waited(child, allowed)
    except subprocess.TimeoutExpired as error:
        raise TargetFailed(f"{label}: no answer within {allowed:.3g} s, so it was ended") from error
    finally:
        _end(child)


def _waited(child: subprocess.Popen[bytes], allowed: float) -> int:
    """Its exit code, once it has ended; at once, where `Popen.wait` with a timeout looks every 50 ms."""
    left = allowed
    if (ended := _end_of(child.pid)) is not None:
        try:
            looking = select.poll()
            looking.register(ended, select.POLLIN)
            looking.poll(min(allowed, _LONGEST) * 1000)
        finally:
            os.close(ended)
        left = max(allowed - _LONGEST, 0)
    return child.wait(left)


def _end_of(process: int) -> int | None:
    """A file that can be read once a process has ended; None where there is no such thing."""
    try:
        return os.pidfd_open(process) if sys.platform == "linux" else None
    except (AttributeError, OSError):  # a C library without it; a sandbox that forbids it
        return None


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        child.kill()
        child.wait()
    if child.stdin is not None:
        child.stdin.close()


def _read_outcome(file: Path, stderr: Path, label: str, code: int) -> Outcome:
    if code == NO_ROOM:
        raise StorageError(f"{file.parent}: no room for temporary files; make some, or set TMPDIR")
    try:
        outcome = msgspec.msgpack.decode(file.read_bytes(), type=Outcome)
    except (OSError, msgspec.DecodeError) as error:
        raise TargetFailed(f"{label}: {_how_it_ended(code)}{_last_line(stderr)}") from error
    if not outcome.done:
        raise TargetFailed(_labelled(label, outcome.error)) from _cause(outcome)
    return outcome


def _labelled(label: str, told: str) -> str:
    """The error with whose it is in front, unless it begins with that very file."""
    place, colon, _ = told.partition(": ")
    file = PurePath(place).name
    return told if colon and file and label.startswith(file) else f"{label}: {told}"


def _cause(outcome: Outcome) -> HotlapError | None:
    """The child's error, with its text as it was and none of its other fields."""
    if outcome.kind == "InputError":
        return errors.InputError(outcome.error)
    kind = getattr(errors, outcome.kind, None) if outcome.kind in errors.__all__ else None
    return None if kind is None else HotlapError.__new__(kind, outcome.error)


def _how_it_ended(code: int) -> str:
    if code < 0:
        try:
            return f"the process crashed ({signal.Signals(-code).name})"
        except ValueError:
            return f"the process crashed (signal {-code})"
    # Windows reports a crash as an exit code above 2^31, e.g. 0xC0000005 for an access violation.
    return f"the process ended with code {code if code < 256 else hex(code)} and no result"


def _last_line(file: Path) -> str:
    try:
        text = file.read_bytes()[-4096:].decode("utf-8", errors="replace")
    except OSError:
        return ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f": {lines[-1][:300]}" if lines else ""
