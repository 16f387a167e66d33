"""A moment awake after each answer, for the request that comes next: `BusyPoll`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns

from hotlap.cpus import cpu_budget

__all__ = ["SPAN", "BusyPoll", "usual_span"]

SPAN = 100e-6
"""Seconds. A client that asks again as soon as it has its answer does so within this, even from a virtual
machine's other CPU; one that asks later loses the 20 to 50 µs of a wake-up among more than as many again."""
_MOST_PASSED_OVER = 1024
_LEAST_QUOTA = 2.0
"""CPUs' worth of time. Looking takes up to one, and a process that has used up its quota stands still for the
rest of the period: tens of milliseconds, for a wake-up that was saved."""


def usual_span(root: Path = Path("/")) -> float:
    """Seconds to stay awake where nobody says how many: `SPAN`, or 0 under a small quota of CPU time.

    Args:
        root: as `cpu_budget` takes it.
    """
    quota = cpu_budget(root).quota
    return SPAN if quota is None or quota >= _LEAST_QUOTA else 0.0


class BusyPoll:
    """Keeps an event loop looking for the next request, without sleeping, for a moment after an answer.

    A thread that sleeps until its socket has something takes as long to wake as a small model takes to run.
    So after an answer the loop looks again and again, other work of its own included, and sleeps only when
    nothing has come. It looks where that pays: each time that nothing came, it passes over twice as many
    answers before it tries again, and it never looks while a lane computes, which may need the CPU. What it
    did not find itself, since it was there already, does not count for it.

    For the event loop's thread alone.

    Args:
        span: seconds that it stays awake; 0: it always sleeps.
        busy: whether requests are being computed.
    """

    __slots__ = ("_awake", "_busy", "_looked", "_loop", "_pass_over", "_span", "_until", "_vain")

    def __init__(self, span: float, busy: Callable[[], bool]) -> None:
        self._span, self._busy = int(span * 1e9), busy
        self._loop: asyncio.AbstractEventLoop | None = None
        self._awake = False
        self._looked = False  # since it became awake
        self._until = 0
        self._vain = 0  # times in a row that nothing came
        self._pass_over = 0  # answers

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def answered(self) -> None:
        """An answer was written."""
        if self._awake:
            if self._looked:  # so this request came while the loop was looking
                self._until = perf_counter_ns() + self._span
                self._vain = 0
        elif self._pass_over:
            self._pass_over -= 1
        elif self._span and self._loop is not None and not self._busy():
            self._until = perf_counter_ns() + self._span
            self._awake, self._looked = True, False
            self._loop.call_soon(self._look)

    def _look(self) -> None:
        """Once each time that the loop goes round: it does not sleep while this is to be called again."""
        assert self._loop is not None
        if self._busy():
            self._awake = False
            if self._looked:  # nothing was computed when it became awake: it found this request
                self._vain = 0
        elif perf_counter_ns() < self._until:
            self._looked = True
            self._loop.call_soon(self._look)
        else:
            self._awake = False
            self._vain += 1
            self._pass_over = min(2**self._vain, _MOST_PASSED_OVER)
