"""What a process and its machine did between two moments: the clock, CPU time, the counters of others."""

from __future__ import annotations

from time import perf_counter, process_time

from hotlap.bench import counters

__all__ = ["Meter"]


class Meter:
    """Read once by `begin` and once by `end`, right around a loop: making room for it is no part of it.

    Attributes:
        wall_s, cpu_s: seconds in between; of all threads of this process together.
        foreign, steal, switches, throttled: as in `ProcessResult`.
    """

    wall_s = 0.0
    cpu_s = 0.0
    foreign: float | None = None
    steal: float | None = None
    switches: int | None = None
    throttled: int | None = None

    def begin(self) -> None:
        self._counts = counters.throttled(), counters.switches()
        self._times = counters.cpu_times()
        self._cpu, self._wall = process_time(), perf_counter()

    def end(self) -> None:
        self.wall_s, self.cpu_s = perf_counter() - self._wall, process_time() - self._cpu
        others = counters.shares(self._times, counters.cpu_times(), self.cpu_s)
        if others is not None:
            self.foreign, self.steal = others
        throttled, switches = self._counts
        self.throttled = _since(throttled, counters.throttled())
        self.switches = _since(switches, counters.switches())


def _since(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before
