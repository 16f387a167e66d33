"""Callables that benchmarks measure: ``benchmarks.targets:NAME``."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

STALL_S, CALL_S, STALLED = 0.2, 0.001, 400


def nothing(feed: Any) -> None:
    """Returns at once."""


def stalling() -> Callable[[Any], None]:
    """1 ms a call, and 200 ms once, at the call of number `STALLED` after it was made."""
    done = 0

    def call(feed: Any) -> None:
        nonlocal done
        done += 1
        time.sleep(STALL_S if done == STALLED else CALL_S)

    return call
