"""Recording what a running application asks its model: when, which shapes, and feeds where the user says so.

A folder holds what measuring reads: ``arrivals.txt`` (``--trace``), ``shapes.json`` (``--shapes``) and
``feeds/`` (``--data``). Without a word from the user no value of any tensor is kept.

`Recorder.add` stands in an application's path: it never raises and never waits for a disk. What it decides to
keep it copies, and a thread of its own writes it.
"""

from __future__ import annotations

import atexit
import logging
import os
import queue
import random
import threading
import time
from array import array
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

import numpy as np

from hotlap.errors import UsageError
from hotlap.runtime.recorded import RecordedFolder, Shapes
from hotlap.runtime.reservoir import Reservoir

__all__ = ["VARIABLE", "Recorder", "record"]

log = logging.getLogger("hotlap.runtime")

VARIABLE = "HOTLAP_RECORD"
"""The folder; HOTLAP_RECORD_INPUTS (names with commas, or "all"), _FEEDS and _MB are its arguments."""
MOST_ARRIVALS = 200_000
"""The trace is the first so many arrivals: a trace with holes would be no trace."""
MOST_SHAPES = 1000
"""Different shapes that are counted; a request of yet another one is counted in none."""
BACKLOG = 16 << 20
"""Bytes of feeds that wait to be written; beyond, a feed is missed rather than the application slowed."""
FLUSH_S = 1.0
_CLOSED = "closed"

R = TypeVar("R")


class Recorder:
    """Samples feeds, their shapes and their arrival times into a folder, bounded in size.

    Of n requests each is among the feeds kept with the same chance (reservoir sampling), however many come;
    but for those that are missed where the disk is slower than they are chosen.
    All methods may be called from any thread, and after a fork the child records into a folder of its own.

    Args:
        folder: where to write; made where it is missing. Where it holds a recording already, the new one goes
            to a folder beside it: ``rec-2``, ``rec-3``, …
        inputs: names of the inputs whose values may be kept, or "all". None: no value of any.
        feeds: feeds kept at most.
        megabytes: that the kept feeds may take, at most.
        seed: of the sampling.

    Attributes:
        folder: where it writes; None until the first request, or where it could not be made.
        stopped: why it records no more; empty while it does.

    Raises:
        UsageError: a bound that makes no sense.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        inputs: Collection[str] | Literal["all"] | None = None,
        feeds: int = 256,
        megabytes: float = 256,
        seed: int = 0,
    ) -> None:
        if feeds < 0 or not megabytes >= 0:
            raise UsageError(f"a recording keeps 0 or more feeds and megabytes, got {feeds} and {megabytes}")
        self._wanted = Path(folder).absolute()
        self._inputs = inputs if inputs is None or inputs == "all" else frozenset(inputs)
        self._bounds = (feeds, int(megabytes * 1e6), seed)
        self._lock = threading.RLock()  # a signal handler or a finalizer may come while it is held
        self._fresh()

    folder: Path | None
    stopped: str
    _pid: int
    _queue: queue.SimpleQueue[tuple[int, dict[str, Any], list[int]] | None]
    _writer: threading.Thread | None
    _shapes: dict[Shapes, int]

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Recorder | None:
        """What ``HOTLAP_RECORD`` and its companions ask for; None where it is not set.

        A companion that cannot be read is logged, and its default holds: a recording must not end a program.
        """
        given = os.environ if environment is None else environment
        if not given.get(VARIABLE):
            return None
        names = [n.strip() for n in given.get(f"{VARIABLE}_INPUTS", "").split(",") if n.strip()]
        return cls(
            given[VARIABLE],
            inputs="all" if names == ["all"] else names or None,
            feeds=_number(given, "FEEDS", int, 256),
            megabytes=_number(given, "MB", float, 256.0),
        )

    def add(self, feed: Mapping[str, Any]) -> None:
        """One request that arrives now. Never raises. The arrays are read, and copied if they are kept."""
        if self.stopped:
            return
        try:
            if os.getpid() != self._pid:
                self._after_fork()
            self._add(feed)
        except Exception as error:  # noqa: BLE001  whatever it is, the application goes on
            self._stop(f"{type(error).__name__}: {error}")

    def wrap(self, run: Callable[..., R]) -> Callable[..., R]:
        """`run`, whose first argument is a feed, recorded before it is called."""

        def recorded(feed: Mapping[str, Any], *args: Any, **kwargs: Any) -> R:
            self.add(feed)
            return run(feed, *args, **kwargs)

        return recorded

    def close(self) -> None:
        """Write what is left and record no more. Never raises; twice is fine."""
        if os.getpid() != self._pid:  # forked, and nothing came since: what is left is the parent's
            self.stopped = _CLOSED
            return
        with self._lock:
            writer, self._writer = self._writer, None
            self.stopped = self.stopped or _CLOSED
        if writer is not None:
            self._queue.put(None)
            writer.join(timeout=30)
            atexit.unregister(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ── in the application's threads ──────────────────────────────────────────────────────────────────

    def _fresh(self) -> None:
        feeds, size, seed = self._bounds
        self.folder = None
        self.stopped = ""
        self._pid = os.getpid()
        self._queue = queue.SimpleQueue()
        self._writer = None
        self._reservoir = Reservoir(feeds, size, random.Random(seed))
        self._arrivals = array("d")
        self._shapes = {}
        self._backlog = self._missed = 0

    def _after_fork(self) -> None:
        self._lock = threading.RLock()  # another thread may have held it when the process was forked
        self._fresh()

    def _add(self, feed: Mapping[str, Any]) -> None:
        shapes: Shapes = tuple([(name, np.shape(value)) for name, value in feed.items()])
        with self._lock:
            if self.stopped:
                return
            if self._writer is None:
                self._start()
            if len(self._arrivals) < MOST_ARRIVALS:
                self._arrivals.append(time.monotonic())  # here, so that the times of many threads ascend
            if shapes in self._shapes or len(self._shapes) < MOST_SHAPES:
                self._shapes[shapes] = self._shapes.get(shapes, 0) + 1
            if self._inputs is None or not self._reservoir.wants_next():
                return
            if self._backlog > BACKLOG:
                self._missed += 1
                return
        kept = {n: np.array(v) for n, v in feed.items() if self._inputs == "all" or n in self._inputs}
        if kept:
            with self._lock:  # the copying needs no lock: other threads go on meanwhile
                nbytes = sum(a.nbytes for a in kept.values())
                slot, dropped = self._reservoir.put(nbytes)
                self._backlog += nbytes
                self._queue.put((slot, kept, dropped))

    def _start(self) -> None:
        writer = threading.Thread(target=self._write, name="hotlap-recorder", daemon=True)
        if self._writer is None:  # still: a request within this one may have started it
            self._writer = writer
            writer.start()
            atexit.register(self.close)

    def _stop(self, why: str) -> None:
        with self._lock:
            first, self.stopped = self.stopped in ("", _CLOSED), why
        if first:
            log.warning("%s: recording stopped: %s", self.folder or self._wanted, why)

    # ── in the writer's thread ────────────────────────────────────────────────────────────────────────

    def _write(self) -> None:
        try:
            folder = RecordedFolder(self._wanted)
            self.folder = folder.path
            written, more = 0, True
            while more and self._going():
                more = self._write_next_feeds(folder)
                written = self._write_counts(folder, written)
        except Exception as error:  # noqa: BLE001  a full disk, say: the application goes on
            self._stop(getattr(error, "strerror", None) or f"{type(error).__name__}: {error}")

    def _going(self) -> bool:
        return self.stopped in ("", _CLOSED)

    def _write_next_feeds(self, folder: RecordedFolder) -> bool:
        """Write feeds for up to a second; False once there will be no more."""
        end = time.monotonic() + FLUSH_S
        while (left := end - time.monotonic()) > 0:
            try:
                job = self._queue.get(timeout=left)
            except queue.Empty:
                return True
            if job is None:
                return False
            folder.keep(*job)
            with self._lock:
                self._backlog -= sum(a.nbytes for a in job[1].values())
        return True

    def _write_counts(self, folder: RecordedFolder, written: int) -> int:
        """Write the new arrivals and the counts; returns how many arrivals are written."""
        with self._lock:
            origin = self._arrivals[0] if self._arrivals else 0.0
            times = self._arrivals[written:]
            counts = list(self._shapes.items())
        if counts:
            folder.add_arrivals(t - origin for t in times)
            folder.write_shapes(counts, self._missed)
        return written + len(times)


def record(
    folder: str | os.PathLike[str],
    *,
    inputs: Collection[str] | Literal["all"] | None = None,
    feeds: int = 256,
    megabytes: float = 256,
) -> Recorder:
    """A `Recorder`, for a ``with`` block: ``with record("rec", inputs="all") as recorder:
    recorder.add(feed)``.

    Raises:
        UsageError: a bound that makes no sense.
    """
    return Recorder(folder, inputs=inputs, feeds=feeds, megabytes=megabytes)


N = TypeVar("N", int, float)


def _number(given: Mapping[str, str], name: str, kind: type[N], usual: N) -> N:
    text = given.get(f"{VARIABLE}_{name}", "")
    try:
        value = kind(text) if text else usual
        if value >= 0:
            return value
    except ValueError:
        pass
    log.warning("%s_%s=%s is no number of 0 or more; %s is taken", VARIABLE, name, text, usual)
    return usual
