"""Measuring the candidates: each process alone, the default among them as the yardstick, until time is up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import numpy as np

from hotlap.bench import ProcessResult, Target, Workload, run_once
from hotlap.errors import HotlapError, TargetFailed, Unavailable
from hotlap.tune.candidates import Candidate
from hotlap.tune.race import Race

__all__ = ["Clock", "Heats"]

_CALLS = 25
"""A process measures at least about this many calls, so that its p95 is more than its worst call."""


class Clock:
    """How much of the budget is used; the one place that knows the time."""

    def __init__(self, seconds: float, on_progress: Callable[[float, str], None] | None = None) -> None:
        self.start = time.monotonic()
        self.seconds = seconds
        self._tell = on_progress

    @property
    def spent(self) -> float:
        return time.monotonic() - self.start

    @property
    def left(self) -> float:
        return self.seconds - self.spent

    @property
    def end(self) -> float:
        """On `time.monotonic`'s scale."""
        return self.start + self.seconds

    @property
    def patience(self) -> float:
        """Seconds after which a process counts as hung."""
        return max(30.0, self.seconds / 3)

    def say(self, what: str) -> None:
        if self._tell:
            self._tell(min(self.spent, self.seconds), what)


class Heats:
    """The candidates on the track.

    Args:
        default: the yardstick, ``onnxruntime.InferenceSession(path)`` with no options.
        candidates: what races.
        feeds: folder of the .npz files that every process goes through.
        clock: of the whole tuning.
        folder: what relative model paths in plans start from.
    """

    def __init__(
        self, default: Target, candidates: Iterable[Candidate], feeds: Path, clock: Clock, folder: Path
    ) -> None:
        self.default = default
        self.candidates = {c.label: c for c in candidates}
        self.targets = {
            label: Target.planned(c.plan, folder=folder, label=label) for label, c in self.candidates.items()
        }
        self.race = Race(list(self.candidates))
        self.results: dict[str, list[ProcessResult]] = {label: [] for label in self.candidates}
        self.failed: dict[str, str] = {}
        self.yardstick: list[ProcessResult] = []
        self._feeds = feeds
        self._clock = clock
        self._workload = Workload(seconds=0.4, warmup=0.1)

    def first(self) -> None:
        """The default once: how long the rest should measure.

        Raises:
            TargetFailed: the default itself does not run, so there is nothing to be faster than.
        """
        self._measure_default()
        longest = max(0.3, min(2.0, _CALLS * self.yardstick[0].p50))
        self._workload = Workload(seconds=longest, warmup=min(0.1, longest / 3))

    def round(self, until: float) -> None:
        """One more process for each survivor and one for the default, as far as time reaches.

        Args:
            until: `time.monotonic` after which no further process starts.
        """
        order = self.race.next_round()
        place = len(order) // 2 if len(self.yardstick) % 2 else 0
        for number, label in enumerate(order):
            if time.monotonic() > until:
                return
            if number == place:
                self._measure_default()
            self._measure(label)

    def speedup(self, label: str, percentile: float = 50) -> float | None:
        """The default's percentile divided by the candidate's, medians across processes."""
        mine = self.results[label]
        if not mine or not self.yardstick:
            return None
        ours, theirs = ([_percentile(p, percentile) for p in side] for side in (mine, self.yardstick))
        return float(np.median(theirs) / np.median(ours))

    def cpu_ratio(self, label: str) -> float | None:
        """CPU seconds for each request, the candidate's divided by the default's; None: not measured."""
        mine = self.results[label]
        if not mine or not self.yardstick:
            return None
        theirs = float(np.median([p.cpu_per_call for p in self.yardstick]))
        return float(np.median([p.cpu_per_call for p in mine])) / theirs if theirs else None

    def _measure_default(self) -> None:
        self._clock.say("the default")
        self.yardstick.append(self._run(self.default))

    def _measure(self, label: str) -> None:
        self._clock.say(label)
        try:
            result = self._run(self.targets[label])
        except TargetFailed as error:
            # A provider that refuses or crashes on a model is a row in the table, not the end.
            self.failed[label] = _reason(error)
            self.race.remove(label, self.failed[label])
            return
        self.results[label].append(result)
        self.race.add(label, result.p50)

    def _run(self, target: Target) -> ProcessResult:
        # One order of the inputs for all that run in a round, another in the next.
        turn = len(self.yardstick)
        result = run_once(target, self._workload, self._feeds, timeout=self._clock.patience, turn=turn)
        order = sum(map(len, self.results.values())) + len(self.yardstick)
        return msgspec.structs.replace(result, order=order)


def _percentile(process: ProcessResult, q: float) -> float:
    return process.p50 if q == 50 else process.percentile(q)


def _reason(error: HotlapError) -> str:
    cause = error.__cause__
    return str(cause) if isinstance(cause, Unavailable) and str(cause) else str(error)
