"""Where a model's rows lie: it is run with 1, 2, 3 copies of one row, and must give back as many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hotlap.plan import StuckAxis
from hotlap.runtime.probe.alike import gap, is_tensor
from hotlap.runtime.probe.axes import free_axes, place_name, row_choices
from hotlap.runtime.probe.making import Rows
from hotlap.runtime.probe.tries import Array, Feed, Tries

__all__ = ["Structure", "find_structure"]

COUNTS = (1, 2, 3)
_MORE_COUNTS = (4, 5)
"""Tried where only one count works, to be sure of it."""


@dataclass(slots=True)
class Structure:
    """One choice of axes, and what came of it.

    Attributes:
        rows: how rows are laid into the inputs.
        copies: number of rows to the answers to so many copies of row 0.
        fails: number of rows to why the model does not take so many, or what became of them.
        axes: output to its axis of rows, of those that have one.
        lacking: outputs that have none.
    """

    rows: Rows
    copies: dict[int, dict[str, Any]] = field(default_factory=dict)
    fails: dict[int, str] = field(default_factory=dict)
    axes: dict[str, int] = field(default_factory=dict)
    lacking: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Every count ran, and every output has its rows."""
        return not self.fails and not self.lacking

    def split(self, answers: Mapping[str, Any], number: int) -> dict[str, Any]:
        """One row's part of the answers."""
        return {n: np.take(answers[n], [number], axis) for n, axis in self.axes.items()}

    def stuck(self, tries: Tries) -> tuple[StuckAxis, ...]:
        """Its axes, where exactly one count works and every larger and smaller one fails."""
        if len(self.copies) != 1 or not self.fails or not self._everything_moves(tries):
            return ()
        _try_counts(tries, self, _MORE_COUNTS)
        if len(self.copies) != 1:
            return ()
        first = self.fails[min(self.fails)]
        return tuple(
            StuckAxis(input=n, axis=a, works=tuple(self.copies), fails=tuple(sorted(self.fails)), said=first)
            for n, a in self.rows.axes.items()
        )

    def _everything_moves(self, tries: Tries) -> bool:
        """Else what fails may be the choice: an input that should have moved along and did not."""
        moving = set(self.rows.axes)
        free = free_axes(tries.inputs, self.rows.stacked([self.rows.row(0)]))
        return all(any(n in moving for n, _ in places) for places in free.values())


def find_structure(tries: Tries, feed: Feed, limits: Mapping[str, int]) -> Structure | None:
    """The first choice of axes that is whole, else the one with which most went well; None: there is none.

    Raises:
        OutOfTime: before the first choice was tried.
    """
    best: Structure | None = None
    for axes in row_choices(tries.inputs, tries.outputs, feed):
        found = Structure(Rows(tries.inputs, feed, axes, limits))
        _try_counts(tries, found, sorted({*COUNTS, found.rows.count}))
        _find_axes(tries, found)
        if found.whole:
            return found
        if best is None or _merit(found) > _merit(best):
            best = found
    return best


def _merit(found: Structure) -> tuple[int, int]:
    return len(found.copies), len(found.axes)


def _try_counts(tries: Tries, found: Structure, counts: Sequence[int]) -> None:
    row = found.rows.row(0)
    for count in counts:
        answers, said = tries.run(found.rows.stacked([row] * count))
        said = said or _lost(tries, found, answers, count)
        if said:
            found.fails[count] = said
        else:
            found.copies[count] = answers


def _lost(tries: Tries, found: Structure, answers: Mapping[str, Any], count: int) -> str:
    """What says that the rows that came out are not those that went in, against the declaration; or ""."""
    specs = {s.name: s for s in tries.inputs}
    symbols = {place_name(specs[n], a) for n, a in found.rows.axes.items()}
    first = found.copies.get(1, answers)
    for spec in tries.outputs:
        array, one = answers.get(spec.name), first.get(spec.name)
        if not (isinstance(array, np.ndarray) and isinstance(one, np.ndarray) and spec.ranked):
            continue
        if not array.ndim == one.ndim == len(spec.shape):
            continue
        for axis, (dim, size) in enumerate(zip(spec.shape, array.shape, strict=True)):
            promised = dim if isinstance(dim, int) else count if dim in symbols else size
            # What contradicts the declaration with one row too is another fault.
            if size != promised and one.shape[axis] == (dim if isinstance(dim, int) else 1):
                return (
                    f'{count} rows went in, and output "{spec.name}" came out as {list(array.shape)}; '
                    f"declared is {spec.label}"
                )
    return ""


def _find_axes(tries: Tries, found: Structure) -> None:
    lacking = []
    for spec in tries.outputs:
        answers = {count: a[spec.name] for count, a in found.copies.items()}
        axis = _axis_of_rows(answers) if all(map(is_tensor, answers.values())) else None
        if axis is None:
            lacking.append(spec.name)
        else:
            found.axes[spec.name] = axis
    found.lacking = tuple(lacking)


def _axis_of_rows(answers: Mapping[int, Array]) -> int | None:
    """The axis that is as long as the rows are many, each time, and whose parts look like the row alone.

    With several such axes, the one whose first part is nearest to the row alone.
    """
    if len(answers) < 2 or len({a.ndim for a in answers.values()}) != 1:
        return None
    least, most = min(answers), max(answers)
    alone, many = answers[least], answers[most]
    fits = [
        axis
        for axis in range(alone.ndim)
        if all(a.shape[axis] == count for count, a in answers.items())
        and np.take(many, range(least), axis).shape == alone.shape
    ]
    return min(fits, key=lambda axis: gap(np.take(many, range(least), axis), alone), default=None)
