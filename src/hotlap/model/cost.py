"""What a call costs: multiply-adds and bytes, with the sizes that vary left open.

Counts are made at a few sizes and a formula is laid through them; that it is the right one is checked at
sizes that it was not made from.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import msgspec

from hotlap.errors import HotlapError, UsageError
from hotlap.model.counting import Count, count
from hotlap.model.formula import Formula, degree, fitted
from hotlap.model.light import bound, light, open_axes
from hotlap.model.shaped import shaped

__all__ = ["Cost", "count_at", "count_cost"]

_STEPS = (32, 64, 8, 1)
"""Sizes are tried in such steps: a convolution that halves sides rounds, and in between follows no formula.
"""
_BASE = 64
_MOST_WORK = 400_000
"""Nodes times counts. A graph of 5,000 nodes with three symbols of the second degree is within."""


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What a call costs, with the file's operators as they stand; nothing is fused.

    What hangs on weights and sizes alone is computed once, while the model loads, and not counted.

    Attributes:
        macs: multiply-adds of matrix products, convolutions, recurrent layers and attention; None: unknown.
        nbytes: read and written, weights and activations, by all nodes one after the other; None: unknown.
        why: what stood in the way of what is unknown or held; "" where nothing did.
        steps: symbol to the number of which its size must be a multiple for the formulas to be exact; in
            between they are near.
        held: symbol to the only size that the formulas hold for, since no formula follows it.
    """

    macs: Formula | None = None
    nbytes: Formula | None = None
    why: str = ""
    steps: dict[str, int] = {}
    held: dict[str, int] = {}


def count_cost(model: Any, sizes: Mapping[str, int] | None = None) -> Cost:
    """What a call of a ``ModelProto`` costs. Never raises: what cannot be told is None, with the reason.

    Args:
        model: external weights are not read.
        sizes: symbol, or ``input[axis]`` of an axis without one, to a size that is known to work; what no
            formula follows is held at it.
    """
    try:
        return _Counter(model, sizes or {}).cost()
    except HotlapError as error:
        return Cost(why=str(error))
    except RecursionError:
        return Cost(why="its graphs are nested too deep to be counted")


def count_at(model: Any, sizes: Mapping[str, int]) -> Count:
    """What a call of a ``ModelProto`` costs at these sizes of its open axes, which need fit no formula.

    Args:
        model: external weights are not read.
        sizes: symbol, or ``input[axis]`` of an axis without one, to size; all of them.

    Raises:
        ModelError: the model contradicts itself at these sizes.
        UsageError: a size is missing.
        MissingExtra: the packages that tell shapes are not installed.
    """
    axes = open_axes(model)
    missing = ", ".join(axes.keys() - sizes)
    if missing:
        raise UsageError(f"sizes are missing: {missing}")
    return count(shaped(bound(light(model), axes, {s: sizes[s] for s in axes})).graph)


class _Counter:
    def __init__(self, model: Any, sizes: Mapping[str, int]) -> None:
        self._model = light(model)
        self._axes = open_axes(model)
        rows = {s for s, places in self._axes.items() if any(axis == 0 for _, axis in places)}
        self._base = {s: sizes.get(s, 1 if s in rows else _BASE) for s in self._axes}
        self._steps = {s: (1, *_STEPS[:-1]) if s in rows else _STEPS for s in self._axes}
        self._known: dict[tuple[int, ...], Count] = {}
        self._whys: list[str] = []

    def cost(self) -> Cost:
        base = self._at({})
        if base.macs is None and base.nbytes is None:
            return Cost(why=_joined(base.why_macs, base.why_bytes))
        open_ = {s: found for s in self._axes if (found := self._scan(s)) is not None}
        grid = {s: [step * (i + 1) for i in range(power + 1)] for s, (step, power) in open_.items()}
        return Cost(
            macs=None if base.macs is None else self._formula(grid, open_, "macs"),
            nbytes=None if base.nbytes is None else self._formula(grid, open_, "nbytes"),
            why=_joined(base.why_macs, base.why_bytes, *self._whys),
            steps={s: step for s, (step, power) in open_.items() if power and step > 1},
            held={s: size for s, size in self._base.items() if s not in open_},
        )

    def _at(self, sizes: Mapping[str, int]) -> Count:
        """The count at these sizes, all others at their base."""
        sizes = {**self._base, **sizes}
        key = tuple(sizes.values())
        if key not in self._known:
            if (len(self._known) + 1) * len(self._model.graph.node) > _MOST_WORK:
                raise _TooMuch
            try:
                self._known[key] = count(shaped(bound(self._model, self._axes, sizes)).graph)
            except HotlapError as error:
                if not self._known:
                    raise
                self._known[key] = Count(None, None, str(error), str(error))
        return self._known[key]

    def _scan(self, symbol: str) -> tuple[int, int] | None:
        """(step, power) in which both counts grow with one size; None where they follow no formula."""
        whys = ["no formula follows it"]
        for step in self._steps[symbol]:
            sizes = [step * n for n in (1, 2, 3, 5)]
            counts = list(itertools.takewhile(self._is_known, (self._at({symbol: s}) for s in sizes)))
            if len(counts) < len(sizes):
                failed = self._at({symbol: sizes[len(counts)]})
                whys.insert(0, failed.why_macs or failed.why_bytes)
                continue
            columns = [[c.macs for c in counts], [c.nbytes for c in counts]]
            powers = [degree(sizes, column) for column in map(_known, columns) if column]
            if None not in powers:
                return step, max(p for p in powers if p is not None)
        self._whys.append(f'"{symbol}" is held at {self._base[symbol]}: {whys[0]}')
        return None

    def _is_known(self, found: Count) -> bool:
        """Whether it tells all that the count at the base tells."""
        base = self._at({})
        return (found.macs is None) <= (base.macs is None) and (found.nbytes is None) <= (base.nbytes is None)

    def _formula(
        self, grid: Mapping[str, list[int]], open_: Mapping[str, tuple[int, int]], kind: str
    ) -> Formula | None:
        # Each symbol doubles the points at least: told before the first is made.
        if math.prod(map(len, grid.values())) * len(self._model.graph.node) > _MOST_WORK:
            raise _TooMuch
        points = (dict(zip(grid, sizes, strict=True)) for sizes in itertools.product(*grid.values()))
        counts = {tuple(p.values()): getattr(self._at(p), kind) for p in points}
        other = {s: step * 4 for s, (step, _) in open_.items()}
        if None not in counts.values():
            formula = fitted(grid, counts)
            if formula.at(other) == getattr(self._at(other), kind):
                return formula
        self._whys.append(f"no formula follows all of {', '.join(grid)} together")
        return None


def _known(column: list[int | None]) -> list[int]:
    return [c for c in column if c is not None]


class _TooMuch(HotlapError):
    def __init__(self) -> None:
        super().__init__("it is too large to be counted at enough sizes")


def _joined(*whys: str) -> str:
    return "; ".join(dict.fromkeys(w for w in whys if w))
