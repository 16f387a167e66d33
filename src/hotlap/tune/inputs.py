"""The inputs of a tuning: checked against the model, thinned where too many, made where there are none."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hotlap.bench import Target, Workload, load_feeds, make_feeds, save_feeds, temporary_folder
from hotlap.errors import HotlapError, InputError, TargetFailed, UsageError
from hotlap.model import Model
from hotlap.tensors import check_feed
from hotlap.verify.levels import ENOUGH_ROWS

__all__ = ["Feed", "feeds_of", "judged"]

Feed = dict[str, Any]
JUDGED = 0.04
"""Share of the budget that one pass over the judged inputs may take; 64 rows are judged in any case."""
MEASURED = 256
"""Inputs, at most, that the measuring processes go through."""


@contextlib.contextmanager
def feeds_of(
    source: Model, data: Any, rows: bool, patience: float = 120.0
) -> Iterator[tuple[list[Feed], Path]]:
    """The inputs in memory and as a folder of .npz files that every process reads."""
    with temporary_folder() as temporary:
        if data is None:
            feeds = _made_feeds(source, patience, temporary)
        elif isinstance(data, str | os.PathLike):
            feeds = load_feeds(Path(data), rows)
        else:
            feeds = list(data)
        if not feeds:
            raise UsageError("no inputs: data is empty")
        feeds = [_checked(source, number, feed) for number, feed in enumerate(feeds, 1)]
        yield feeds, save_feeds(temporary / "spread", _spread(feeds, MEASURED))


def _checked(source: Model, number: int, feed: Feed) -> Feed:
    try:
        return check_feed(source.inputs, feed)
    except InputError as error:
        raise InputError([f"feed {number}: {problem}" for problem in error.problems]) from error


def judged(feeds: list[Feed], p50_s: float, seconds: float) -> list[Feed]:
    """As many inputs as there is time to judge on, evenly spread over those given."""
    return _spread(feeds, max(ENOUGH_ROWS, int(JUDGED * seconds / max(p50_s, 1e-6))))


def _spread(feeds: list[Feed], most: int) -> list[Feed]:
    if len(feeds) <= most:
        return feeds
    return [feeds[n * len(feeds) // most] for n in range(most)]


def _made_feeds(source: Model, patience: float, folder: Path) -> list[Feed]:
    """One feed, made in a process of its own: the model may hang or crash."""
    try:
        made = make_feeds(
            Target.default(source.path), Workload(timeout=patience), folder, limits=source.id_limits()
        )
    except TargetFailed as error:
        # The child's own error says who must act.
        raise error.__cause__ if isinstance(error.__cause__, HotlapError) else error from error
    return load_feeds(made) if source.inputs else [{}]
