"""A clock that moves only when it is told to, and targets that take scripted time on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


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
