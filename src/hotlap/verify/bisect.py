"""Where do two models part? The first node whose answer differs by more than the noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from hotlap.bench import Target, save_feeds
from hotlap.bench.process import ask, temporary_folder
from hotlap.errors import UsageError
from hotlap.verify.bisect_child import BisectRequest
from hotlap.verify.divergence import Walked

__all__ = ["bisect", "first_not_finite"]

CHILD = "hotlap.verify.bisect_child"
MOST_FEEDS = 4
"""Inputs that the values are compared on; the first ones given."""


def bisect(
    reference: Target, candidate: Target, feeds: Sequence[Mapping[str, Any]], *, timeout: float = 600.0
) -> Walked:
    """Walk both models to the first node at which they differ, into `If`, `Loop` and `Scan` too.

    Values are paired by name, or by their place in the order of the nodes where the names are others. They
    are given out by copies of both models that run without graph optimisation, in a process of its own.

    Args:
        reference, candidate: models or plans; what a plan says of optimisation does not count.
        feeds: the inputs to compare on, the most telling first; `MOST_FEEDS` of them are used.
        timeout: seconds after which the process counts as hung.

    Raises:
        UsageError: a side is a Python callable, whose inside nobody can see; or there is no feed.
        TargetFailed: the process crashed or hung, or a model cannot be read.
        StorageError: no room for the copies.
    """
    return _asked(reference, candidate, feeds, timeout)


def first_not_finite(target: Target, feeds: Sequence[Mapping[str, Any]], *, timeout: float = 600.0) -> Walked:
    """Walk one model to the first node that makes NaN or +infinity; arguments and errors as for `bisect`.

    -infinity is how models write masks, and is left alone.
    """
    return _asked(target, None, feeds, timeout)


def _asked(
    reference: Target, candidate: Target | None, feeds: Sequence[Mapping[str, Any]], timeout: float
) -> Walked:
    for target in (reference, candidate):
        if target is not None and target.kind == "callable":
            raise UsageError(f"{target.label}: a Python callable has no nodes to walk through")
    if not feeds:
        raise UsageError("no inputs to compare on: give one feed or more")
    with temporary_folder() as folder:
        given = [{name: np.asarray(v) for name, v in feed.items()} for feed in feeds[:MOST_FEEDS]]
        request = BisectRequest(
            reference=reference,
            candidate=candidate,
            feeds=str(save_feeds(folder / "feeds", given)),
            home=str(folder),
            found=str(folder / "found"),
            outcome=str(folder / "outcome"),
        )
        label = f"{(candidate or reference).label}, walked through"
        ask(CHILD, request, folder, label, timeout)
        return msgspec.msgpack.decode(Path(request.found).read_bytes(), type=Walked)
