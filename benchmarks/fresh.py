"""Timing small Python programs: each in fresh processes, all of them in turn, in balanced order."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from time import perf_counter

import numpy as np

from hotlap.bench.rounds import balanced
from hotlap.bench.stats import Ratio, bootstrap_ratio


def seconds_told(scripts: Mapping[str, str], rounds: int) -> dict[str, list[float]]:
    """Each script prints how many seconds its own matter took; the last line counts."""

    def one(script: str) -> float:
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        return float(done.stdout.split()[-1])

    return _in_turn({name: lambda s=script: one(s) for name, script in scripts.items()}, rounds)


def seconds_taken(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, list[float]]:
    """The wall time of whole processes, from start to end."""

    def one(command: Sequence[str]) -> float:
        start = perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        return perf_counter() - start

    return _in_turn({name: lambda c=command: one(c) for name, command in commands.items()}, rounds)


def ratio(over: Sequence[float], under: Sequence[float]) -> Ratio:
    """over / under with its 95 % interval."""
    return bootstrap_ratio(np.log(over), np.log(under))


def _in_turn(calls: Mapping[str, object], rounds: int) -> dict[str, list[float]]:
    names = list(calls)
    found: dict[str, list[float]] = {name: [] for name in names}
    for name in names:
        calls[name]()  # type: ignore[operator]  # once for the disk's cache, not counted
    for side in balanced(len(names), rounds):
        found[names[side]].append(calls[names[side]]())  # type: ignore[operator]
    return found
