"""What a tuning found: `Tuning`, with a `Trial` for every candidate, and the `Budget` it had to keep to."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from hotlap.bench import Comparison, ProcessResult
from hotlap.bench.measurement import read_struct
from hotlap.errors import UsageError
from hotlap.plan import Plan
from hotlap.plan.files import write_whole
from hotlap.verify import Verdict

__all__ = ["FORMAT", "Budget", "Trial", "Tuning"]

# History of the saved format. A newer hotlap reads every older one.
# 1: the first.
FORMAT = 1

Status = Literal["chosen", "kept", "dropped", "refused", "failed", "not reached"]


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """What a tuning may spend.

    Attributes:
        seconds: wall time from the first step to the last, kept to within a tenth.

    Raises:
        UsageError: too little to measure anything.
    """

    seconds: float = 90.0

    def __post_init__(self) -> None:
        if not 10 <= self.seconds <= 86_400:
            raise UsageError(f"the time to tune must be 10 seconds to a day, got {self.seconds:g} s")


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One candidate and what became of it.

    Attributes:
        label: e.g. ``"cpu, 2 threads, spin off"``.
        plan: what ran.
        status: ``chosen``; ``kept`` (ran to the end of the race, another was better); ``dropped`` (clearly
            slower); ``refused`` (a gate said no, or its p95 was worse than the default's); ``failed`` (the
            provider refused the model, or crashed); ``not reached`` (no time was left).
        reason: one sentence.
        speedup: p50 of the default divided by this candidate's, medians across processes; None: not measured.
        speedup_p95: the same for p95.
        cpu_ratio: CPU seconds for each request, this candidate's divided by the default's.
        processes: what was measured, with every sample.
        verdict: the gate's, where this candidate was judged.
    """

    label: str
    plan: Plan
    status: Status
    reason: str
    speedup: float | None = None
    speedup_p95: float | None = None
    cpu_ratio: float | None = None
    processes: tuple[ProcessResult, ...] = ()
    verdict: Verdict | None = None


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """A finished tuning.

    Attributes:
        source: the model's path as given.
        plan: the plan that was chosen, as written into the folder.
        chosen: its label.
        won: whether the plan is faster than the default beyond the noise. If not, the plan is ORT's default
            with the number of threads set explicitly.
        said: the result in one sentence.
        trials: every candidate, best first.
        baseline: the default's processes in the race.
        comparison: the headline: default and plan, measured against each other once more after the search.
            None where no candidate was worth it.
        verdict: the gate's word on the chosen plan itself.
        machine: what it was measured on.
        generated: the inputs were made to fit the signature, not given.
        feeds: how many inputs were given, or made.
        not_tried: providers that are installed but do not load here, each with its reason.
        seconds: how long it all took.
        folder: where the plan was written; None: nowhere.
    """

    format: int = FORMAT
    source: str
    plan: Plan
    chosen: str
    won: bool
    said: str
    trials: tuple[Trial, ...]
    baseline: tuple[ProcessResult, ...]
    comparison: Comparison | None
    verdict: Verdict | None
    machine: dict[str, Any]
    generated: bool
    feeds: int
    not_tried: tuple[str, ...] = ()
    seconds: float
    budget: Budget
    date: str
    folder: str | None = None

    def save(self, path: str | Path) -> None:
        """Write it as JSON, whole or not at all.

        Raises:
            StorageError: it could not be written.
        """
        write_whole(Path(path), msgspec.json.encode(self))

    @classmethod
    def load(cls, path: str | Path) -> Tuning:
        """Read what `save` wrote.

        Raises:
            UsageError: missing, not a tuning, or written by a newer hotlap.
        """
        return read_struct(path, cls, "tuning", newest=FORMAT)
