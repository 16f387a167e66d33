"""Two measurements against each other: a ratio, its interval, a verdict, and the doubts."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from hotlap.bench.doubts import comparison_doubts, disturbed_share, void_doubt
from hotlap.bench.measurement import FORMAT, Measurement, read_struct
from hotlap.bench.quantiles import needed, supported
from hotlap.bench.stats import RESAMPLES, Call, Ratio, bootstrap_ratio, call, enough_processes, same_within
from hotlap.errors import UsageError, VerificationFailed
from hotlap.plan.files import write_whole

__all__ = ["SAME", "Comparison", "Tail", "compare_measurements"]

log = logging.getLogger("hotlap.bench")

SAME = 0.02
"""Sides whose interval lies within 2 % are called the same, unless another margin is asked for."""
LEVEL = 0.95


class Tail(msgspec.Struct, frozen=True, kw_only=True):
    """The same ratio at another percentile, beside the headline.

    Attributes:
        enough: whether the samples of both sides support this percentile; if not, the ratio compares the
            largest of few calls, under a name that it has not earned.
    """

    percentile: float
    ratio: float
    low: float
    high: float
    verdict: Call
    enough: bool = True


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What was found of the candidate (b) against the baseline (a).

    Attributes:
        percentile: of the latency that the headline compares.
        ratio: baseline / candidate; above 1 the candidate is faster.
        low, high: its interval, 95 % for all comparisons of a run together.
        verdict: of the candidate; it needs the whole interval beyond 1 ± `stats.MARGIN`.
        tail: the same at p95.
        same_within: the margin (0.02: 2 %) within which the sides were shown to be the same; None: they were
            not. A verdict of its own: both can hold, a small difference that was shown and lies within it.
        enough: whether anything was shown, a difference or sameness. False is "not enough data": the interval
            leaves both open, or the samples do not support the percentile.
        looks: how many comparisons the run made. With more than one, the intervals are widened (Bonferroni:
            each errs in 5 % / looks), so that one false verdict among all of them stays as rare as in one.
        foreign: share of the usable CPUs that other work took, mean over all processes; None: unknown.
        disturbed: share of the processes that others disturbed (more than `doubts.DISTURBED`).
        void: so many were disturbed that the verdict says nothing; the first doubt tells.
        doubts: one sentence each.
        a, b: all that was measured.
    """

    format: int = FORMAT
    percentile: float
    ratio: float
    low: float
    high: float
    verdict: Call
    tail: Tail
    same_within: float | None = None
    enough: bool = True
    looks: int = 1
    foreign: float | None
    disturbed: float
    void: bool
    doubts: tuple[str, ...]
    a: Measurement
    b: Measurement

    @property
    def bound(self) -> float:
        """The sides differ by this share at most, as far as the interval tells; 0.03 is 3 %."""
        return max(self.high, 1 / self.low) - 1

    @property
    def slowdown(self) -> float:
        """How much longer the candidate takes, as a share; 0.05 is 5 %, below 0 it is faster."""
        return 1 / self.ratio - 1

    def fails(self, slower: float = 0.0) -> bool:
        """Whether the candidate is slower beyond the noise, and in the middle by more than this share.

        A void run fails nothing: it says nothing.
        """
        return not self.void and self.verdict == "slower" and self.slowdown > slower

    def check(self, slower: float = 0.0, *, strict: bool = False) -> Comparison:
        """Make sure that the candidate is not slower; for use in tests: ``compare(a, b).check(slower=0.05)``.

        Args:
            slower: the share that it may be slower by, 0.05 for 5 %; see `fails`.
            strict: a run that shows nothing, void or without enough data, is refused as well.

        Returns:
            itself.

        Raises:
            VerificationFailed: it is slower, or (`strict`) nothing was shown.
            UsageError: the share makes no sense.
        """
        if not 0 <= slower < float("inf"):
            raise UsageError(f"slower must be a share of 0 or more, got {slower:g}")
        sides = f"{self.b.target.label} against {self.a.target.label}"
        span = f"p{self.percentile:g} speed-up {self.ratio:.3f}x ({self.low:.3f} to {self.high:.3f})"
        if self.fails(slower):
            allowed = f", {100 * slower:g} % is allowed" if slower else ""
            raise VerificationFailed(f"{sides}: slower by {100 * self.slowdown:.1f} %{allowed}; {span}")
        if self.void or not self.enough:
            told = f"{sides}: {self.doubts[0] if self.void else 'not enough data'}; {span}"
            if strict:
                raise VerificationFailed(told)
            log.warning("%s", told)
        return self

    def save(self, path: str | Path) -> None:
        """Write it as JSON, whole or not at all. Raises StorageError."""
        write_whole(Path(path), msgspec.json.encode(self))

    @classmethod
    def load(cls, path: str | Path) -> Comparison:
        """Read what `save` wrote. Raises UsageError: missing, not a comparison, or by a newer hotlap."""
        return read_struct(path, cls, "comparison")


def compare_measurements(
    a: Measurement, b: Measurement, *, percentile: float = 50, looks: int = 1, same: float = SAME
) -> Comparison:
    """The candidate `b` against the baseline `a`; both are given as they were measured.

    Args:
        a, b: ideally measured in one run in balanced order, as `compare` does.
        percentile: of the latency that the headline compares.
        looks: how many comparisons are made of this run; the intervals are widened for them.
        same: the margin of "the same within".

    Raises:
        UsageError: a percentile, a number of looks or a margin that makes no sense.
    """
    if not 0 < percentile < 100 or looks < 1 or not 0 < same < 1:
        raise UsageError(
            "a comparison needs a percentile within 0 to 100, one look or more, a margin within 0 to 1; "
            f"got {percentile:g}, {looks}, {same:g}"
        )
    main, tail = (_ratio(a, b, q, looks) for q in (percentile, 95))
    # Two one-sided tests, each at the 2.5 % that one end of the interval stands for: stricter than the usual
    # 5 %, and one interval serves both verdicts.
    enough = _supported(a, b, percentile)
    sizes = len(a.processes), len(b.processes)
    verdict = call(main.low, main.high, sizes, looks) if enough else "no difference"
    same_shown = enough and enough_processes(sizes, looks) and same_within(main.low, main.high, same)
    processes = [*a.processes, *b.processes]
    void = void_doubt(processes)
    known = [p.disturbance for p in processes if p.disturbance is not None]
    doubts = comparison_doubts(a, b, main)
    if not enough:
        fewest = min(a.calls, b.calls)
        doubts = (
            f"p{percentile:g} needs {needed(percentile):,} samples a side, there are {fewest:,}",
            *doubts,
        )
    return Comparison(
        percentile=percentile,
        ratio=main.value,
        low=main.low,
        high=main.high,
        verdict=verdict,
        tail=Tail(
            percentile=95,
            ratio=tail.value,
            low=tail.low,
            high=tail.high,
            verdict=call(tail.low, tail.high, sizes, looks),
            enough=_supported(a, b, 95),
        ),
        same_within=same if same_shown else None,
        enough=same_shown or verdict != "no difference",
        looks=looks,
        foreign=float(np.mean(known)) if known else None,
        disturbed=disturbed_share(processes),
        void=bool(void),
        doubts=(void, *doubts) if void else doubts,
        a=a,
        b=b,
    )


def _ratio(a: Measurement, b: Measurement, q: float, looks: int) -> Ratio:
    level = 1 - (1 - LEVEL) / looks
    sides: Sequence[Measurement] = (a, b)
    log_a, log_b = (side.log_percentiles(q) for side in sides)
    # The further out the ends lie, the more draws it takes to place them.
    return bootstrap_ratio(log_a, log_b, a.workload.seed, RESAMPLES * min(looks, 20), level)


def _supported(a: Measurement, b: Measurement, q: float) -> bool:
    return supported(q, a.calls) and supported(q, b.calls)
