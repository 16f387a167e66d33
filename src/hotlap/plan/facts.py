"""What running a model showed that its declarations do not say, or say wrongly: `Facts`."""

from __future__ import annotations

import math
import re
from typing import Literal

import msgspec

from hotlap.errors import PlanError
from hotlap.plan.options import named
from hotlap.plan.words import dotted

__all__ = ["Facts", "StuckAxis"]


_ROWS = re.compile(r"[1-9]\d{0,8}", re.ASCII)


class StuckAxis(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """An axis that is declared to take any size, and does not.

    Attributes:
        input: the input's name.
        axis: its number.
        works, fails: sizes that were tried; a size fails where ORT refuses, or where the rows that come out
            are not those that went in.
        said: what became of the first size that failed, one line.
    """

    input: str
    axis: int
    works: tuple[int, ...] = ()
    fails: tuple[int, ...] = ()
    said: str = ""

    def __post_init__(self) -> None:
        _check_whole("facts.stuck.axis", self.axis)
        for field in ("works", "fails"):
            for size in getattr(self, field):
                _check_whole(f"facts.stuck.{field}", size)


class Facts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What probing learned about one model. What it could not learn is "unknown", which never means safe.

    Attributes:
        rows: whether each row's answer is its own, whatever stands beside it: the condition for batching.
        why: the evidence for that, or why it could not be learned, one line.
        axes: input or output to its axis of rows; what has none is missing here.
        stuck: axes that are dynamic in name only.
        shapes: output to its real shape where that contradicts the declared one; symbols as declared where
            they hold.
        repeats: whether equal runs gave equal bits.
        repeats_by: by how much equal runs differed at most, as a share of the output's range; 0: not at all.
        padding: symbol, or ``input[axis]``, to whether padding along it (zeros, masked where the model has
            a mask) changes the answers.
        seconds: number of rows (as text) to the median seconds of a call with so many rows.
        onnxruntime: the version that was probed with.
        date: when (ISO 8601).

    Raises:
        PlanError: an axis or a size is negative, or a number is not finite.
    """

    rows: Literal["independent", "dependent", "unknown"] = "unknown"
    why: str = ""
    axes: dict[str, int] = {}
    stuck: tuple[StuckAxis, ...] = ()
    shapes: dict[str, tuple[int | str, ...]] = {}
    repeats: Literal["equal", "differ", "unknown"] = "unknown"
    repeats_by: float = 0.0
    padding: dict[str, Literal["insensitive", "sensitive", "unknown"]] = {}
    seconds: dict[str, float] = {}
    onnxruntime: str = ""
    date: str = ""

    def __post_init__(self) -> None:
        for name, axis in self.axes.items():
            _check_whole(dotted("facts", "axes", name), axis)
        for name, shape in self.shapes.items():
            for dim in shape:
                if isinstance(dim, int):
                    _check_whole(dotted("facts", "shapes", name), dim)
        _check_number("facts.repeats_by", self.repeats_by)
        for rows, seconds in self.seconds.items():
            where = dotted("facts", "seconds", rows)
            if not _ROWS.fullmatch(rows):
                raise PlanError(f"{where}: expected a number of rows as the key, such as 1")
            _check_number(where, seconds)


def _check_whole(where: str, number: int) -> None:
    if not 0 <= number < 2**63:
        raise PlanError(f"{where}: expected a whole number of 0 or more, got {named(number)}")


def _check_number(where: str, number: float) -> None:
    if not (math.isfinite(number) and number >= 0):
        raise PlanError(f"{where}: expected a finite number of 0 or more, got {named(number)}")
