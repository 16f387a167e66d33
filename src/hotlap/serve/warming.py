"""Running a model before the first caller does, and measuring it on the way: `warm`."""

from __future__ import annotations

import logging
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from hotlap.errors import HotlapError, InputError, PlanError
from hotlap.runtime import Face, find_feed, make_feed
from hotlap.serve.pays import Curve
from hotlap.serve.rows import Rows

__all__ = ["SECONDS", "Timed", "feeds", "measure", "warm"]

log = logging.getLogger("hotlap.serve")

SECONDS = 1.0
"""What measuring one shape may take, roughly; a slow model is measured with fewer rows and fewer calls."""
_CALLS = 9
_LARGEST = 64 << 20
"""Bytes of a feed that is made to measure batches; what it would tell is seldom worth more memory."""

Feed = Mapping[str, Any]
Shapes = dict[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Timed:
    """One feed that was measured.

    Attributes:
        shapes: input to shape.
        nbytes: of all inputs.
        seconds: the median of a call.
    """

    shapes: Shapes
    nbytes: int
    seconds: float


def feeds(runner: Face) -> list[Feed]:
    """One feed for each shape that the plan lists under `warm`, or one that runs, made from the signature.

    None where no made feed runs: a signature does not say everything, and the log says so.

    Raises:
        PlanError: a shape that the plan lists does not fit the model.
    """
    made: list[Feed] = []
    for number, shapes in enumerate(runner.plan.warm):
        try:
            made.append(make_feed(runner.inputs, shapes=shapes))
            runner.run(made[-1])
        except InputError as error:
            raise PlanError(f"warm[{number}]: {'; '.join(error.problems)}") from error
    if not runner.plan.warm:
        try:
            made.append(find_feed(runner.run, runner.inputs))
        except InputError as error:
            said = error.problems[0]
            log.warning(
                "%s is not warmed: no made feed runs (%s); list shapes under `warm` in its plan",
                runner.model_path,
                said,
            )
    return made


def warm(runner: Face, given: Sequence[Feed]) -> None:
    """Runs each feed until this thread has buffers bound: the first call shows shapes, the second binds."""
    for feed in given:
        for _ in range(3):
            runner.run(feed)


def measure(
    runner: Face, rows: Rows, feed: Feed, most: int, seconds: float = SECONDS
) -> tuple[Curve | None, list[Timed]]:
    """How long calls take: of the feed itself, and of 1, 2, 4, … of its first row.

    Args:
        feed: it runs.
        most: rows.
        seconds: for all of it, roughly.

    Returns:
        The curve, where rows may share a call at all; and every feed that was measured.
    """
    end = perf_counter() + seconds
    timed = [_timed(feed, _median(runner, feed, seconds / 4))]
    if rows.why_not or most < 2:
        return None, timed
    row = {n: _first(a, rows.axes[n]) if n in rows.axes else a for n, a in feed.items()}
    curve: dict[int, float] = {}
    count = 1
    while count <= most:
        whole = {n: _repeated(a, rows.axes[n], count) if n in rows.axes else a for n, a in row.items()}
        # Twice the rows take about twice the time, and are run a few times.
        if curve and (4 * curve[count // 2] > end - perf_counter() or _nbytes(whole) > _LARGEST):
            break
        try:
            curve[count] = _median(runner, whole, (end - perf_counter()) / 4)
        except HotlapError as error:
            log.warning("%s does not run with %d rows, so no more share a call: %s", runner, count, error)
            break
        timed.append(_timed(whole, curve[count]))
        count *= 2
    # With the inputs that have no rows: each job brings its own, and its bytes tell of them.
    return (Curve(_nbytes(row), curve) if curve else None), timed


def _median(runner: Face, feed: Feed, seconds: float) -> float:
    """Of as many calls as the time allows, after two that bind."""
    begun = perf_counter()
    runner.run(feed)
    runner.run(feed)
    each = (perf_counter() - begun) / 2
    took = []
    for _ in range(max(1, min(_CALLS, int(seconds / max(each, 1e-9))))):
        begun = perf_counter()
        runner.run(feed)
        took.append(perf_counter() - begun)
    return statistics.median(took)


def _first(array: Any, axis: int) -> Any:
    return array[(slice(None),) * axis + (slice(0, 1),)]


def _repeated(array: Any, axis: int, times: int) -> Any:
    return np.ascontiguousarray(np.repeat(array, times, axis=axis))


def _timed(feed: Feed, seconds: float) -> Timed:
    return Timed({name: array.shape for name, array in feed.items()}, _nbytes(feed), seconds)


def _nbytes(feed: Feed) -> int:
    """As requests are counted (`InferRequest.nbytes`)."""
    return sum(_text(a) if a.dtype == object else a.nbytes for a in feed.values())


def _text(array: Any) -> int:
    return sum(4 + len(str(text).encode("utf-8", "replace")) for text in array.ravel())
