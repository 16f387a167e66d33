"""A metric of the user's on both sides, and the interval of how much lower the candidate's is."""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from hotlap.errors import UsageError
from hotlap.verify.interval import NO_INTERVAL, interval_of_calls, paired_interval
from hotlap.verify.levels import CONFIDENCE, FEWEST_DRAWS

__all__ = ["Change", "Metric", "measured_change", "split_labels"]

Metric = Callable[..., Any]
"""(feeds, outputs) or, where labels are given, (feeds, outputs, labels): higher is better.

Each is a list with one entry for each input. It returns one number for all of them, or an array with a score
for each input or each row, whose mean is what counts.
"""

_Both = Callable[[Iterable[int]], list[npt.NDArray[np.float64]]]
"""Numbers of inputs to what the metric gives for them, on the reference's answers and on the candidate's."""
CALLS = 500
"""Of a metric that gives one number: each resample calls it twice."""
LEAST_CALLS = 100
"""Where time is short; of fewer, the ends of the interval are hardly more than the outermost draws."""
_FAILING = 0.1


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """How a metric changed.

    Attributes:
        before, after: the reference's and the candidate's.
        low, high: the interval of the drop (before minus after), of `levels.CONFIDENCE`; None where there is
            none: of fewer than `levels.FEWEST_DRAWS` scores, or where some are no finite numbers.
        count: how many were drawn from.
        per: what they are: a "row" or an "input".
        changed: of them, those whose score is another; None for a metric that gives one number.
        unseen: how far an end of the interval was moved for what equal drops do not show.
        slow: the metric gives one number, and takes too long to be called as often as an interval needs.
    """

    before: float
    after: float
    low: float | None
    high: float | None
    count: int
    per: Literal["row", "input"]
    changed: int | None = None
    unseen: float = 0.0
    slow: bool = False

    @property
    def drop(self) -> float:
        return self.before - self.after

    @property
    def width(self) -> float:
        return math.inf if self.low is None or self.high is None else self.high - self.low

    @property
    def label(self) -> str:
        """One line: ``the metric went from 0.91 to 0.9, a drop of 0.01 (95% interval 0.002 to 0.02, …)``."""
        told = f"the metric went from {self.before:.6g} to {self.after:.6g}, a drop of {self.drop:.3g}"
        return f"{told} ({self._interval})"

    @property
    def few(self) -> bool:
        """There are too few of them for an interval."""
        return self.count < FEWEST_DRAWS

    @property
    def _interval(self) -> str:
        many = f"{self.count:,} {self.per}{'s' if self.count != 1 else ''}"
        if self.low is None or self.high is None:
            why = f"fewer than {FEWEST_DRAWS} show no spread" if self.few else "some scores are not finite"
            why = "the metric takes too long to be called again and again" if self.slow else why
            return f"{many}, no interval: {why}"
        told = f"{CONFIDENCE:.0%} interval {self.low:.3g} to {self.high:.3g}, {many}"
        if not self.unseen:
            return told
        return f"{told}, all of one drop: it reaches {self.unseen:.3g} further for what they do not show"


def measured_change(
    metric: Metric,
    feeds: Sequence[Mapping[str, Any]],
    before: Sequence[Mapping[str, Any]],
    after: Sequence[Mapping[str, Any]],
    labels: Sequence[Any] | None = None,
    rows: int = 0,
    seed: int = 0,
    seconds: float = math.inf,
) -> Change:
    """The metric on both sides, with the interval of its drop.

    Both sides are drawn again together, input by input or row by row (paired bootstrap, percentile interval),
    so that what makes an input hard for both of them cancels. Where no score changed at all, or all by the
    same, another change in fewer than 3 of n would not have shown (the rule of three), and the interval
    reaches that far. Fewer than `levels.FEWEST_DRAWS` have none.

    Args:
        metric: see `Metric`.
        feeds, before, after: the inputs, and the outputs of both sides for each.
        labels: one for each input; None: the metric takes none.
        rows: how many rows the inputs have in all; 0: not known.
        seed: of the resampling.
        seconds: about how long a metric of one number may be called again and again.

    Raises:
        UsageError: the metric fails, gives something else than finite numbers, or another number of scores
            than there are inputs or rows.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993), 8.4 and 13.3; Hanley and
    Lippman-Hand, JAMA 249 (1983), 1743 (the rule of three).
    """

    def both(picks: Iterable[int]) -> list[npt.NDArray[np.float64]]:
        """What each side scores on those inputs."""
        drawn = list(picks)
        given = () if labels is None else ([labels[n] for n in drawn],)
        return [
            _called(metric, [feeds[n] for n in drawn], [side[n] for n in drawn], *given)
            for side in (before, after)
        ]

    one, two = both(range(len(feeds)))
    _check_finite(one, "reference")
    if _finite_answers(after):  # where the candidate answers NaN, so may the metric: that is its verdict
        _check_finite(two, "candidate")
    if one.shape != two.shape:
        raise UsageError(f"the metric gave {one.size} scores for one side and {two.size} for the other")
    if one.ndim == 0:
        return _by_calls(both, len(feeds), float(one), float(two), seed, seconds)
    if one.size not in (len(feeds), rows):
        of_rows = f" of {rows:,} rows" if rows else ""
        raise UsageError(
            f"the metric gave {one.size:,} scores for {len(feeds):,} inputs{of_rows}: "
            "return one score for each input or each row, or a single number for all of them"
        )
    per: Literal["row", "input"] = "row" if one.size == rows and one.size != len(feeds) else "input"
    found = paired_interval(one, two, seed)
    return Change(
        before=float(one.mean()),
        after=float(two.mean()),
        count=one.size,
        per=per,
        changed=int(np.count_nonzero(one != two)),
        **found._asdict(),
    )


def _called(metric: Metric, *arguments: Any) -> npt.NDArray[np.float64]:
    try:
        given = metric(*arguments)
    except Exception as error:
        raise UsageError(f"the metric failed: {type(error).__name__}: {error}{_place(error)}") from error
    try:
        scores = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise UsageError(
            f"the metric gave {type(given).__name__}, not a number or an array of scores"
        ) from None
    if scores.ndim > 1 or not scores.size:
        raise UsageError(f"the metric gave an array of shape {list(scores.shape)}; one score a row is wanted")
    return scores


def _place(error: Exception) -> str:
    """The last line of the user's own file that the error passed through; "" where it is not known."""
    frames = traceback.extract_tb(error.__traceback__)[1:]  # the first is the call in here
    own = [frame for frame in frames if frame.filename == frames[0].filename]
    return f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""


def _check_finite(scores: npt.NDArray[np.float64], side: str) -> None:
    """Raises UsageError: a score is NaN or infinite, though the answers are not."""
    odd = np.flatnonzero(~np.isfinite(scores))
    if odd.size:
        which = f" (score {odd[0]:,} of {scores.size:,})" if scores.ndim else ""
        value = scores.flat[odd[0]]
        raise UsageError(f"the metric gave {value} on the {side}'s answers{which}: return finite numbers")


def _finite_answers(answers: Sequence[Mapping[str, Any]]) -> bool:
    arrays = (value for answer in answers for value in answer.values() if isinstance(value, np.ndarray))
    return all(bool(np.isfinite(array).all()) for array in arrays if array.dtype.kind == "f")


def _by_calls(both: _Both, count: int, one: float, two: float, seed: int, seconds: float) -> Change:
    """A metric of the whole: called on inputs drawn again, the same ones for both sides."""
    found, slow = NO_INTERVAL, False
    if count >= FEWEST_DRAWS and math.isfinite(one - two):
        drops = _drops_of_calls(both, count, seed, seconds)
        slow = len(drops) < (1 - _FAILING) * LEAST_CALLS
        found = NO_INTERVAL if slow else interval_of_calls(drops, count, one, two)
    return Change(before=one, after=two, count=count, per="input", slow=slow, **found._asdict())


def _drops_of_calls(both: _Both, count: int, seed: int, seconds: float) -> npt.NDArray[np.float64]:
    draw = np.random.default_rng(seed)
    drops: list[float] = []
    failed: UsageError | None = None
    start, asked = time.monotonic(), 0
    while asked < CALLS and _affordable(asked, time.monotonic() - start, seconds):
        asked += 1
        try:
            scores = [float(score) for score in both(draw.integers(count, size=count))]
        except UsageError as error:  # a class that was not drawn, say
            failed = error
            continue
        drops.append(scores[0] - scores[1])
    if failed is not None and len(drops) < (1 - _FAILING) * asked:
        raise failed
    return np.array(drops)


def _affordable(asked: int, spent: float, seconds: float) -> bool:
    """Whether there is time for one more call, and for as many as an interval needs."""
    return not asked or spent / asked * max(asked + 1, LEAST_CALLS) <= seconds


def split_labels(labels: Sequence[Any], rows: Sequence[int]) -> list[Any]:
    """One entry for each input: labels that are one for each row are cut to the inputs' rows, as arrays, or
    as lists where the rows' labels have no one shape.

    Args:
        labels: one for each input, or one for each row of all inputs.
        rows: how many rows each input has.

    Raises:
        UsageError: they are neither.
    """
    if len(labels) == len(rows):
        return list(labels)
    if len(labels) != sum(rows):
        raise UsageError(
            f"{len(labels)} labels for {len(rows)} inputs of {sum(rows)} rows: give one for each, in order"
        )
    try:
        known: Any = np.asarray(labels)
    except ValueError:  # of another length for each row: a text in tokens, say
        known = list(labels)
    ends = np.cumsum(rows)
    return [known[end - size : end] for end, size in zip(ends.tolist(), rows, strict=True)]
