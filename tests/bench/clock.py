"""A clock that moves only when it is told to, and targets that take scripted time on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class FakeClock:
    """Nanoseconds; sleeping moves it."""

    def __init__(self) -> None:
        self.now = 1_000_000_000

    def __call__(self) -> int:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += max(1, round(seconds * 1e9))


class Scripted:
    """A target whose n-th call takes `services[n]` seconds of the clock."""

    def __init__(self, clock: FakeClock, services: Sequence[float]) -> None:
        self.clock, self.services, self.feeds = clock, services, []  # type: ignore[var-annotated]

    def __call__(self, feed: Any) -> None:
        self.clock.sleep(self.services[len(self.feeds)])
        self.feeds.append(feed)


def queue_of(times: Sequence[float], services: Sequence[float], servers: int) -> np.ndarray[Any, Any]:
    """What each request waits and is served for, first come first served: a simulation of its own.

    Source: Kiefer and Wolfowitz, Trans. Amer. Math. Soc. 78 (1955): the workload vector of a G/G/c queue.
    """
    free = [0.0] * servers
    found = []
    for arrival, service in zip(times, services, strict=True):
        server = min(range(servers), key=lambda n: free[n])
        begin = max(arrival, free[server])
        free[server] = begin + service
        found.append(free[server] - arrival)
    return np.array(found)
