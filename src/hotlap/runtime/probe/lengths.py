"""Other sizes of the axes that are no rows: what works, what fails, and what must move together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hotlap.plan import StuckAxis
from hotlap.runtime.probe.axes import Places, free_axes, resized
from hotlap.runtime.probe.structure import Structure
from hotlap.runtime.probe.tries import Feed, Tries

__all__ = ["Length", "find_lengths"]

_FEWEST = 3
"""Sizes that must have failed before an axis is called stuck."""


@dataclass(slots=True)
class Length:
    """One free axis that is not of rows.

    Attributes:
        key: its symbol, or ``input[axis]``.
        places: where it stands.
        size: in the feed that runs.
        along: (places, size in the feed) of other axes that must move by as much.
        works, fails: other sizes that were tried; a failing one with what was said.
    """

    key: str
    places: Places
    size: int
    along: tuple[tuple[Places, int], ...] = ()
    works: list[int] = field(default_factory=list)
    fails: dict[int, str] = field(default_factory=dict)

    def moved(self, feed: Feed, size: int) -> Feed:
        """The feed with the axis at that size, and what must move along with it."""
        made = dict(feed)
        for places, old in ((self.places, self.size), *self.along):
            for name, axis in places:
                made[name] = resized(made[name], axis, old + size - self.size)
        return made

    def stuck(self) -> tuple[StuckAxis, ...]:
        """Its places, where only the size of the feed works and sizes on both sides of it fail."""
        below = any(s < self.size for s in self.fails) or self.size == 1
        above = sum(s > self.size for s in self.fails) > 1
        if self.works or not (below and above) or len(self.fails) < _FEWEST:
            return ()
        said = next(iter(self.fails.values()))
        return tuple(
            StuckAxis(input=n, axis=a, works=(self.size,), fails=tuple(sorted(self.fails)), said=said)
            for n, a in self.places
        )


def find_lengths(tries: Tries, feed: Feed, found: Structure | None) -> Iterator[Length]:
    """Each free axis that is not one of rows, with the sizes that were tried.

    Args:
        feed: one that runs.
        found: where the rows lie, if that is known: a size that changes their number fails.

    Raises:
        OutOfTime: before the next one was finished.
    """
    rows = set(found.rows.axes.items()) if found else set()
    free = {k: p for k, p in free_axes(tries.inputs, feed).items() if not rows & set(p)}
    sizes = {k: feed[p[0][0]].shape[p[0][1]] for k, p in free.items()}
    for key, places in free.items():
        if sizes[key] > 0:
            others = [(p, sizes[k]) for k, p in free.items() if k != key and sizes[k] > 0]
            yield _tried(tries, feed, found, Length(key, places, sizes[key]), others)


def _tried(
    tries: Tries, feed: Feed, found: Structure | None, length: Length, others: Sequence[tuple[Places, int]]
) -> Length:
    for size in _sizes(length.size):
        # One larger and one smaller size are enough to know that it moves.
        if not any((w > length.size) == (size > length.size) for w in length.works):
            _try(tries, feed, found, length, size)
    if any(size > 1 for size in length.works):  # one may only be broadcast
        return length
    for along in _companies(length.size, others):
        together = Length(length.key, length.places, length.size, along)
        for size in (length.size + 1, length.size * 2):
            _try(tries, feed, found, together, size)
        if together.works:
            return together
    return length


def _sizes(size: int) -> list[int]:
    """Likeliest first: nets that halve five times want multiples of 32."""
    wanted = (2 * size, size + 32, size + 1, size + size // 4, size // 2, size - 32, size - 1, 1)
    return list(dict.fromkeys(s for s in wanted if s > 0 and s != size))


def _companies(size: int, others: Sequence[tuple[Places, int]]) -> Iterator[tuple[tuple[Places, int], ...]]:
    """Sets of axes that may have to move along: all of the same size, then each one alone."""
    equal = tuple(o for o in others if o[1] == size)
    if equal:
        yield equal
    for other in others:
        if (other,) != equal:
            yield (other,)


def _try(tries: Tries, feed: Feed, found: Structure | None, length: Length, size: int) -> None:
    moved = length.moved(feed, size)
    answers, said = tries.run(moved)
    if not said and found is not None:
        said = _rows_changed(answers, found)
    if said:
        length.fails[size] = said
    else:
        length.works.append(size)


def _rows_changed(answers: Mapping[str, object], found: Structure) -> str:
    for name, axis in found.axes.items():
        shape = getattr(answers.get(name), "shape", ())
        if shape[axis : axis + 1] != (found.rows.count,):
            return f'{found.rows.count} rows went in, and output "{name}" came out as {list(shape)}'
    return ""
