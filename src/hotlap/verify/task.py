"""The level `task`: from a metric's interval to a decision."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from hotlap.verify.levels import FEWEST_DRAWS
from hotlap.verify.metric import Change

__all__ = ["Decision", "decided"]


class Decision(NamedTuple):
    """What the interval allows to say.

    Attributes:
        passed: the drop is within what is allowed, at the bad end of its interval.
        undecided: the interval is wider than what is allowed, and does not lie beyond it either.
        reason: one sentence.
        unlock: what would let it be judged again; None where nothing would.
    """

    passed: bool
    undecided: bool
    reason: str
    unlock: str | None = None


def decided(change: Change, max_drop: float, exact: Callable[[], bool]) -> Decision:
    """Whether a drop of the metric is allowed.

    Args:
        change: of the metric.
        max_drop: how much lower the candidate may be.
        exact: says whether the answers agree within the model's own noise; only asked where the metric
            cannot tell and the drop that was seen is allowed. Such answers are the same answers, however few
            they are, and whatever rounding does to the metric's last digits.
    """
    said = f"{change.label}; {max_drop:g} is allowed"
    if not math.isfinite(change.drop):
        return Decision(False, False, said)
    if change.low is not None and change.low > max_drop:
        return Decision(False, False, said, _MORE)
    if change.high is not None and change.high <= max_drop and change.width <= max_drop:
        return Decision(True, False, said)
    blind = change.low is None or change.width > max_drop
    if blind and change.drop <= max_drop and exact():
        return Decision(True, False, f"{said}, and the answers agree within the model's own noise")
    if change.low is None:
        return Decision(False, True, f"it cannot tell: {said}", _more_data(change))
    if change.width > max_drop:
        return Decision(
            False,
            True,
            f"it cannot tell: {said}, which is less than the interval is wide",
            _wanted(change, max_drop),
        )
    return Decision(False, False, f"{said}, which the bad end of the interval is beyond", _MORE)


_MORE = "allow more (--max-drop)"


def _more_data(change: Change) -> str:
    """What would give an interval."""
    if change.slow:
        return "let the metric give a score for each input or row, then it is called once; or give more time"
    if not change.few:
        return "let the metric give finite numbers, however the inputs are drawn; or ask for the level close"
    rows = ", or a metric that gives a score for each row" if change.per == "input" else ""
    return f"give more data: {FEWEST_DRAWS} {change.per}s or more{rows}; or ask for the level close"


def _wanted(change: Change, max_drop: float) -> str:
    """How many rows would do: an interval narrows with the root of their number; one of the rule of three,
    with the number itself."""
    if max_drop <= 0:
        return "allow a drop of more than 0, or ask for the level close"
    times = change.width / max_drop
    count = math.ceil(change.count * (times if change.unseen else times**2))
    return f"give more data: about {count:,} {change.per}s would do; or allow more (--max-drop)"
