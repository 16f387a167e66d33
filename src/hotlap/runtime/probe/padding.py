"""Does padding change the answers? An axis is made longer with zeros, and its old part is compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np

from hotlap.runtime.probe.alike import gap, is_tensor, rounding, usable
from hotlap.runtime.probe.lengths import Length
from hotlap.runtime.probe.making import constant, varied
from hotlap.runtime.probe.tries import Array, Feed, Tries

__all__ = ["judge_padding"]

Kind = Literal["insensitive", "sensitive", "unknown"]

_NARROW = 3
_SEED = 7
_FEW = 2
_SHARE = 8
"""A padding of less than this part of the axis can hide in a stride, so it proves nothing."""


def judge_padding(tries: Tries, feed: Feed, length: Length, limits: Mapping[str, int], noise: float) -> Kind:
    """Whether zeros at the end of the axis (zeros in a mask too, which then masks them) change the answers.

    Where an output has the axis, or one that grows with it, its leading part is compared.

    Args:
        feed: one that runs.
        length: the axis, with the sizes that work.
        limits: input to how many ids there are.
        noise: by how much equal runs differ, as a share of the range.

    Raises:
        OutOfTime: before it was known.
    """
    proved = False
    longer = sorted(s for s in length.works if s > length.size)
    for before in _contents(tries, feed, limits):
        answers = tries.run(before)[0]
        for size in longer:
            padded = tries.run(_padded(before, length, size - length.size))[0]
            if not answers or not padded:
                continue
            said = _changed(answers, padded, noise)
            if said == "sensitive":
                return said
            proved |= said == "insensitive" and (size - length.size) * _SHARE >= length.size
    return "insensitive" if proved and not _too_few_ids(tries, feed, length, limits) else "unknown"


def _too_few_ids(tries: Tries, feed: Feed, length: Length, limits: Mapping[str, int]) -> bool:
    """Made ids are 0 and 1 where nobody knows how many there are: padding with 0 then adds nothing new."""
    moved = {name for places in (length.places, *(p for p, _ in length.along)) for name, _ in places}
    return any(
        constant(s, feed[s.name], 2) is not feed[s.name] and len(np.unique(feed[s.name])) <= _FEW
        for s in tries.inputs
        if s.name in moved and s.name not in limits
    )


def _contents(tries: Tries, feed: Feed, limits: Mapping[str, int]) -> Iterator[Feed]:
    """What is padded: the feed, other values, and one id all over. An arithmetic that heeds the range of its
    values is moved by zeros beside a single id, unless that one has the wider range: so several are tried."""
    specs = [s for s in tries.inputs if s.name in feed and feed[s.name].ndim and s.dtype is not None]
    yield feed
    yield feed | {s.name: varied(s, feed[s.name], limits.get(s.name), _SEED) for s in specs}
    if any(constant(s, feed[s.name], 2) is not feed[s.name] for s in specs):
        for number in range(_NARROW):
            yield feed | {s.name: constant(s, feed[s.name], limits.get(s.name), number) for s in specs}


def _padded(feed: Feed, length: Length, by: int) -> Feed:
    made = dict(feed)
    for places, _ in ((length.places, length.size), *length.along):
        for name, axis in places:
            made[name] = _with_zeros(made[name], axis, by)
    return made


def _with_zeros(array: Array, axis: int, by: int) -> Array:
    shape = list(array.shape)
    shape[axis] = by
    empty = np.full(shape, "" if array.dtype == object else 0, array.dtype)
    return np.concatenate([array, empty], axis)


def _changed(before: Mapping[str, Any], after: Mapping[str, Any], noise: float) -> Kind:
    said: list[Kind] = [_compared(before[name], after[name], noise) for name in before]
    if "sensitive" in said:
        return "sensitive"
    return "unknown" if "unknown" in said or not said else "insensitive"


def _compared(before: Any, after: Any, noise: float) -> Kind:
    if not (is_tensor(before) and is_tensor(after) and before.ndim == after.ndim and usable(before)):
        return "unknown"
    if any(a < b for a, b in zip(after.shape, before.shape, strict=True)):
        return "unknown"
    leading = after[tuple(slice(n) for n in before.shape)]
    return "sensitive" if gap(before, leading) > noise + rounding(before) else "insensitive"
