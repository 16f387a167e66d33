"""Inputs over several shapes: batches of 1, 2, 3, 7 and 17 rows, odd lengths; whichever of them run.

A fault often shows at one size alone: a constant that holds the batch of the export, a branch for one row,
a block that is left over where a length does not divide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from time import monotonic
from typing import Any

from hotlap.errors import InputError, ModelError
from hotlap.runtime import find_feed
from hotlap.runtime.feeds import make_feed
from hotlap.tensors import TensorSpec

__all__ = ["SIZES", "varied_feeds"]

SIZES = (1, 2, 3, 7, 17)
"""Tried for each axis without a fixed size: one, two, and odd ones, beside what the first guess gave."""
LEAST = 8
"""Feeds are made until there are so many; with a fixed shape they differ in their values."""
PATIENCE = 20.0
"""Seconds after which no further shape is tried."""

Axis = str
Feed = dict[str, Any]


def varied_feeds(runner: Any, limits: Mapping[str, int], patience: float = PATIENCE) -> list[Feed]:
    """Feeds that run, of as many shapes as do; the first is the plain guess, the same each time.

    Args:
        runner: something with `run` and `inputs`.
        limits: input name to how many ids there are, where that is known.
        patience: seconds after which no further shape is tried.

    Raises:
        InputError: no guess at a feed runs.
    """
    specs: list[TensorSpec] = list(runner.inputs)
    feeds = [find_feed(runner.run, specs, limits=limits)]
    end = monotonic() + patience
    known = {name: array.shape for name, array in feeds[0].items()}
    seen = {_shape_of(feeds[0])}
    for changed in _variations(_sizes(specs, known)):
        if monotonic() > end:
            break
        shapes = {s.name: _resized(s, known[s.name], changed) for s in specs}
        if tuple(shapes.items()) in seen:
            continue
        seen.add(tuple(shapes.items()))
        try:
            feed = make_feed(specs, shapes=shapes, limits=limits, seed=len(feeds))
            runner.run(feed)
        except (InputError, ModelError):  # not every model takes every size, nor does memory
            continue
        feeds.append(feed)
    while len(feeds) < LEAST:
        feeds.append(make_feed(specs, shapes=known, limits=limits, seed=len(feeds)))
    return feeds


def _shape_of(feed: Feed) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple((name, array.shape) for name, array in feed.items())


def _axis(spec: TensorSpec, place: int) -> Axis | None:
    """What an axis is called: its symbol; axes without one are taken to be equal at equal places."""
    if not spec.ranked:
        return None
    dim = spec.shape[place]
    return None if isinstance(dim, int) else dim if dim is not None else f"axis {place}"


def _sizes(specs: list[TensorSpec], known: Mapping[str, tuple[int, ...]]) -> dict[Axis, int]:
    """Every axis whose size is open, and what it is in the first feed; the first axis, mostly the batch,
    first."""
    found: dict[Axis, int] = {}
    for place in range(max((len(shape) for shape in known.values()), default=0)):
        for spec in specs:
            if place < len(known[spec.name]) and (axis := _axis(spec, place)) is not None:
                found.setdefault(axis, known[spec.name][place])
    return found


def _variations(sizes: Mapping[Axis, int]) -> Iterator[dict[Axis, int]]:
    """One axis at a time, then all of them; last, sizes that nets with strides take."""
    for axis in sizes:
        for size in SIZES:
            yield {axis: size}
    if len(sizes) > 1:
        yield {axis: SIZES[(3 + n) % len(SIZES)] for n, axis in enumerate(sizes)}
        yield {axis: SIZES[(2 + n) % len(SIZES)] for n, axis in enumerate(sizes)}
    for axis, size in sizes.items():
        if size >= max(SIZES):
            yield {axis: size + 32}
            yield {axis: 3 * size}


def _resized(spec: TensorSpec, known: tuple[int, ...], changed: Mapping[Axis, int]) -> tuple[int, ...]:
    return tuple(changed.get(_axis(spec, place) or "", size) for place, size in enumerate(known))
