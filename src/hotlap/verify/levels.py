"""The levels of agreement, and every number that decides about them. The docs' table is made from here."""

from __future__ import annotations

from dataclasses import dataclass

from hotlap.errors import UsageError
from hotlap.tensors import nearest

__all__ = ["LEVELS", "Level", "check_metric", "level_asked", "level_named"]

NOISE_FACTOR = 5.0
"""How many times the model's own noise a difference may be and still be `exact`.

On twelve real models with real inputs (benchmarks/gates.py) other kernels differ by about once the noise, one
single weight off by a thousandth by more than 5 times on ten of them, weights rounded to bfloat16 by more
than 1,000 times on eleven; the twelfth computes in 8 bits.
"""
FLOOR = 4
"""Units in the last place, of an output's largest value, that are never a difference: the noise may be 0."""
NEAR = 0.02
"""A value is near when it lies within this share of its output's range, taken over the whole data set."""
NEAR_SHARE = 0.995
"""`close` wants this share of an output's values near; of values that are no floats, equal."""
COSINE = 0.999
"""`close` wants this cosine between an output of both sides, over the whole data set."""
BOX_IOU = 0.9
"""`close` wants `NEAR_SHARE` of the boxes that were named to overlap by this much (their IoU)."""
RELATIVE_FROM = 1e-6
"""Below this share of an output's largest magnitude a difference relative to a value says nothing."""
CONFIDENCE = 0.95
"""Of the interval of a metric's drop; its bad end decides at the level `task`."""
FEWEST_DRAWS = 6
"""Fewer rows or inputs than this have no interval, and decide nothing at the level `task`: of fewer, not even
the range of all that were seen holds the middle of what they are drawn from with 95 % (it does with
1 - 2 ** (1 - n): 94 % for five), and an interval that is drawn from them lies within that range."""
UNSTEADY = 1e-3
"""Equal runs of the reference that differ by more (root mean square, share of the range) are no answer."""
ENOUGH_ROWS = 64
"""With fewer rows than this a rare difference may not show, and the verdict says so."""


@dataclass(frozen=True, slots=True)
class Level:
    """One level of agreement.

    Attributes:
        name: as given to `verify` and on the command line.
        agrees: what the answers must do.
        data: what inputs it takes.
        use: when to ask for it.
    """

    name: str
    agrees: str
    data: str
    use: str


LEVELS: dict[str, Level] = {
    level.name: level
    for level in (
        Level(
            "exact",
            f"Every output differs by at most {NOISE_FACTOR:g} times the model's own float noise, in the "
            "largest difference and in the root mean square. Integers, booleans and text are equal, or "
            "differ no more often than the noise makes them.",
            "generated or yours",
            "the same arithmetic done elsewhere: threads, another float32 provider",
        ),
        Level(
            "close",
            f"At least {NEAR_SHARE:.1%} of each output's values lie within {NEAR:.0%} of its range, and the "
            f"cosine is at least {COSINE}. The largest of a row is at the same place on every row, where "
            "rows are probabilities or you name the axis; a tie within the noise is forgiven. Of integers, "
            f"booleans and text, {NEAR_SHARE:.1%} are equal. Of boxes that you name, {NEAR_SHARE:.1%} "
            f"overlap by {BOX_IOU:.0%} or more.",
            "yours only",
            "reduced precision: bfloat16, float16, 8 bits",
        ),
        Level(
            "task",
            f"Your own metric drops by at most what you allow, at the bad end of the {CONFIDENCE:.0%} "
            f"interval of its drop. An interval wider than that decides nothing, nor do fewer than "
            f"{FEWEST_DRAWS} inputs or rows: then answers that are `exact` pass, if the drop that was seen "
            "is allowed.",
            "yours only",
            "when what counts is the task: accuracy, words read",
        ),
    )
}


def level_named(name: str) -> str:
    """The name itself.

    Raises:
        UsageError: there is no such level.
    """
    if name not in LEVELS:
        raise UsageError(f'no level "{name}"{nearest(name, LEVELS)}; there are {", ".join(LEVELS)}')
    return name


def check_metric(level: str | None, *, metric: bool, max_drop: bool, labels: bool = False) -> None:
    """Refuse half of a metric, or one that nobody asks, before anything runs.

    Args:
        level: the one that was asked for; None: none was.
        metric, max_drop, labels: whether they are given.

    Raises:
        UsageError: one of them is missing, or `level` would not ask the metric.
    """
    if max_drop and not metric:
        raise UsageError("--max-drop says how much a metric may drop: give a --metric")
    if labels and not metric:
        raise UsageError("--labels are for a metric: give a --metric")
    if metric and level in ("exact", "close"):
        raise UsageError(f'a metric is for the gate "task", and "{level}" would not ask it: leave one out')
    if metric and not max_drop:
        raise UsageError("how much may the metric drop? Give --max-drop, e.g. 0.5%")
    if level == "task" and not metric:
        raise UsageError('the gate "task" is about a metric of yours: give --metric and --max-drop')


def level_asked(
    level: str | None, *, given: bool, metric: bool, max_drop: bool, labels: bool = False, otherwise: str
) -> str:
    """The level that is meant by what a caller gives.

    Args:
        level: the one that was asked for; None: "task" with a metric, else `otherwise`.
        given: the inputs are the caller's own.
        metric, max_drop, labels: whether they are given.
        otherwise: what judges where neither a level nor a metric is given.

    Raises:
        UsageError: it cannot be judged at it, or would leave out something that is given.
    """
    if metric and not given:
        raise UsageError("a metric needs your data, for made inputs have no right answers: give --data")
    check_metric(level, metric=metric, max_drop=max_drop, labels=labels)
    meant = level_named(level or ("task" if metric else otherwise))
    if not given and meant != "exact":
        raise UsageError(f'the gate "{meant}" judges on your data alone: give --data, or leave it out')
    return meant
