"""How it is measured: `Workload`, the traffic that a target is put under, for how long and how often."""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

from hotlap.bench.arrivals import Times, constant, poisson, replay
from hotlap.bench.shapes import ShapeMix
from hotlap.errors import UsageError

__all__ = ["Workload"]

Arrivals = Literal["closed", "poisson", "constant", "trace"]

LONGEST = 3600.0
"""Seconds; of one process. More is a slip of the keyboard, and the system's own timers end somewhere."""
MOST_CALLS = 10_000_000
"""Of one process; each keeps its latencies, and an open loop its arrival times, in memory."""
MOST = {"processes": 1000, "iterations": MOST_CALLS, "concurrency": 1000}


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """The traffic. By default one caller that calls again as soon as the answer is there (a closed loop).

    In an open loop requests come at times of their own, whether or not earlier ones are answered, and each
    one's latency counts from the time at which it was meant to start.

    Attributes:
        seconds: how long each process measures.
        warmup: seconds that each process warms up, not measured; two calls at least.
        processes: fresh processes a side.
        seed: of the generated inputs, of the arrivals and of the resampling.
        timeout: seconds that a process may take beyond its warm-up and its measuring before it counts as
            hung. Loading a large model is part of it.
        iterations: measured calls of each process, all callers together, in place of `seconds`.
        concurrency: callers, each a thread of one process; they share the target.
        gap: seconds that a caller of a closed loop pauses before each call.
        arrivals: ``"closed"``; or an open loop: ``"poisson"`` and ``"constant"`` at `rate`, ``"trace"``.
        rate: requests a second.
        trace: recorded arrival times, seconds; see `arrivals.load_trace`. Each round replays the next
            stretch.
        shapes: the mix of shapes that inputs are made of, where none are given.

    Raises:
        UsageError: a value that makes no sense.
    """

    seconds: float = 0.8
    warmup: float = 0.2
    processes: int = 12
    seed: int = 0
    timeout: float = 120.0
    iterations: int | None = None
    concurrency: int = 1
    gap: float = 0.0
    arrivals: Arrivals = "closed"
    rate: float | None = None
    trace: tuple[float, ...] = ()
    shapes: tuple[ShapeMix, ...] = ()

    def __post_init__(self) -> None:
        for name in (
            "seconds",
            "warmup",
            "timeout",
            "gap",
            "rate",
        ):  # numpy's numbers are taken, and not kept
            if (value := getattr(self, name)) is not None:
                msgspec.structs.force_setattr(self, name, float(value))
        msgspec.structs.force_setattr(self, "trace", tuple(map(float, self.trace)))
        if not 0 < self.seconds <= LONGEST:
            raise UsageError(f"seconds must be more than 0 and at most {LONGEST:g}, got {self.seconds:g}")
        for name in ("warmup", "gap"):
            if not 0 <= (value := getattr(self, name)) <= LONGEST:
                raise UsageError(f"{name} must be 0 to {LONGEST:g} seconds, got {value:g}")
        if not 0 < self.timeout <= 24 * LONGEST:
            raise UsageError(
                f"timeout must be more than 0 and at most {24 * LONGEST:g} seconds, got {self.timeout:g}"
            )
        for name, most in MOST.items():
            value = getattr(self, name)
            if value is not None and not 1 <= value <= most:
                raise UsageError(f"{name} must be 1 to {most}, got {value}")
        if self.seed < 0:
            raise UsageError(f"seed must be 0 or more, got {self.seed}")
        self._check_traffic()

    def _check_traffic(self) -> None:
        at_a_rate = self.arrivals in ("poisson", "constant")
        if at_a_rate and not 0 < (self.rate or 0) < float("inf"):
            raise UsageError(f"{self.arrivals} arrivals need a rate of more than 0 requests a second")
        if at_a_rate and self.iterations is None and (self.rate or 0) * self.seconds > MOST_CALLS:
            raise UsageError(
                f"a rate of {self.rate:g} for {self.seconds:g} s is more than {MOST_CALLS} requests "
                "in a process"
            )
        if self.rate is not None and not at_a_rate:
            raise UsageError(f"a rate says nothing to {self.arrivals} arrivals: choose poisson or constant")
        if (self.arrivals == "trace") != bool(self.trace):
            raise UsageError("arrivals by a trace need the trace, and a trace needs them")
        if self.trace and len(self.trace) < 2:
            raise UsageError("a trace needs two arrival times or more")
        if self.gap and self.open:
            raise UsageError("a gap is a pause of a closed loop: an open loop calls at times of its own")

    @property
    def open(self) -> bool:
        """Whether requests come at times of their own."""
        return self.arrivals != "closed"

    @property
    def allowance(self) -> float:
        """Seconds after which a process counts as hung."""
        return self.timeout + 2 * (self.warmup + self.seconds)

    def times(self, turn: int) -> Times:
        """When the requests of one process come, seconds from its start; the same for both sides of a round.

        Raises:
            UsageError: none does, within the seconds; or the workload is a closed loop.
        """
        if not self.open:
            raise UsageError("a closed loop has no arrival times")
        seconds, count = self.seconds, self.iterations
        if self.arrivals == "trace":
            found = replay(np.array(self.trace), seconds=seconds, count=count, turn=turn)
        elif self.arrivals == "poisson":
            found = poisson(self.rate or 0, seconds=seconds, count=count, seed=(self.seed, turn))
        else:
            found = constant(self.rate or 0, seconds=seconds, count=count)
        if not found.size:
            raise UsageError(f"no request comes within {seconds:g} s: give each process more seconds")
        return found
