"""The first value at which two models part: that differs by more than the noise."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hotlap.errors import HotlapError, UsageError
from hotlap.model.tap import Value
from hotlap.model.walk import Node, Walk
from hotlap.verify import judging
from hotlap.verify.calibration import most
from hotlap.verify.divergence import Divergence, Seen, Walked
from hotlap.verify.inside import Chunks, Inside, sparse, stored
from hotlap.verify.matching import Pair, in_order, paired
from hotlap.verify.noise import has_floats, nudge
from hotlap.verify.span import Span, spans
from hotlap.verify.tallies import Tallies
from hotlap.verify.tally import Tally
from hotlap.verify.weights import difference, sparse_difference

__all__ = ["Parting"]

DRAWS = 2
"""Of the noise: so often the inputs are nudged. The weights are nudged once: that takes longer."""
_FLOAT32 = float(np.finfo(np.float32).eps)

Answers = dict[str, Any]
Taps = tuple[Path, dict[Value, str]]
"""A copy of a model, and the name of each value among its outputs."""


class Parting:
    """Two models: the first value that differs by more than the noise."""

    def __init__(self, before: Inside, after: Inside, feeds: list[Any]) -> None:
        self.before, self.after, self.feeds = before, after, feeds
        self.pairs, self.by = paired(before.walk, after.walk)
        self.chunks = Chunks(self.pairs)
        self.tallies: dict[Value, Tally] = {}
        self.skipped: list[str] = []

    def walked(self) -> Walked:
        if not self.pairs:
            raise UsageError("the two models have no value in common, neither by name nor by place")
        found = None
        for chunk in self.chunks if self.feeds else ():
            if (found := self._first(chunk)) is not None:
                break
        values = sum(1 for n in in_order(self.before.walk) for v in n.outputs if v)
        return Walked(
            found=found,
            compared=len(self.tallies),
            values=values,
            by=self.by,
            skipped=tuple(self.skipped[:8]),
        )

    def _first(self, chunk: Sequence[Pair]) -> Divergence | None:
        try:
            taps = self.before.tapped([p.at for p in chunk])
            first = self.before.answers(*taps, self.feeds)
            second = self.after.answers(*self.after.tapped([p.other_at for p in chunk]), self.feeds)
        except HotlapError:
            if len(chunk) == 1:
                self.skipped.append(chunk[0].value)
                return None
            half = len(chunk) // 2
            return self._first(chunk[:half]) or self._first(chunk[half:])
        self.chunks.took(first)
        both = [p for p in chunk if _looked_at(p, first, second)]
        left = [{_key(p): answer[p.at] for p in both} for answer in first]
        right = [{_key(p): answer[p.other_at] for p in both} for answer in second]
        known = _spans(left, both)
        tallies = _compared(known, left, right)
        if any(_suspect(tallies, _key(p)) for p in both):
            tallies = _compared(known, left, right, self._noise(chunk, taps, known, left, both))
        for pair in both:
            if (tally := tallies.tallies.get(_key(pair))) is not None:
                self.tallies[pair.at] = tally
            if (kind := _kind(tallies, _key(pair))) is not None:
                return self._divergence(pair, kind, tallies)
        return None

    def _noise(
        self,
        chunk: Sequence[Pair],
        taps: Taps,
        known: dict[str, Span],
        left: list[Answers],
        pairs: Sequence[Pair],
    ) -> dict[str, Any]:
        """The most that each value of the reference moves where its inputs' or its weights' last bits do."""
        seeds = range(DRAWS if has_floats(self.feeds) else 0)
        runs = [(taps, [nudge(feed, seed, n) for n, feed in enumerate(self.feeds)]) for seed in seeds]
        copy = self.before.nudged([p.at for p in chunk])
        runs += [] if copy is None else [(copy, self.feeds)]
        found = []
        for model, feeds in runs:
            answers = self.before.answers(*model, feeds)
            moved_by = _compared(known, left, [{_key(p): a[p.at] for p in pairs} for a in answers])
            found.append(moved_by.as_noise())
        return {label: most(found, label) for label in known}

    def _divergence(self, pair: Pair, kind: Any, tallies: Tallies) -> Divergence:
        tally, key = tallies.tallies.get(_key(pair)), _key(pair)
        form = tallies.reshaped.get(key) if kind == "form" else None
        worst = None if tally is None or form else tally.odd if kind == "not finite" else tally.worst
        texts = (worst.before, worst.after) if worst else _forms(form.told if form else "")
        noise = tally.noise if tally else None
        return Divergence(
            kind=kind,
            node=pair.before.label,
            other="" if pair.after.label == pair.before.label else pair.after.label,
            value=pair.value,
            place=worst.place if worst else "",
            before=texts[0],
            after=texts[1],
            share=tally.share if tally else 0.0,
            rms=tally.rms if tally else 0.0,
            noise=noise.max_rel if noise else 0.0,
            noise_rms=noise.rms if noise else 0.0,
            inputs=tuple(self._seen(pair, place) for place, name in enumerate(pair.before.inputs) if name),
            input=form.input if form else worst.input if worst else 0,
        )

    def _seen(self, pair: Pair, place: int) -> Seen:
        """Whether what the node reads at one place is the same on both sides."""
        name = pair.before.inputs[place]
        home = self.before.walk.home(pair.before.scope, name)
        if (weight := sparse(pair.before.scope, name)) is not None:
            return self._seen_sparse(pair, place, weight)
        if home is not None and name in home.weights:
            return self._seen_weight(pair, place, name)
        if home is not None and name in home.makers:
            tally = self.tallies.get((home.path, name))
            if tally is None:
                return Seen(name=name, agrees=None, said=self._unseen((home.path, name)))
            return Seen(name=name, agrees=True, said=f"agrees: differs by {tally.share:.2g} of its range")
        return Seen(name=name, agrees=True, said="given from outside")

    def _unseen(self, at: Value) -> str:
        """Why a value of the reference was not compared."""
        if all(pair.at != at for pair in self.pairs):
            return "not in both models"
        return "not looked at" if at[1] in self.skipped else "not looked at: no array"

    def _seen_weight(self, pair: Pair, place: int, name: str) -> Seen:
        other = _weight(self.after.walk, pair.after, name, place)
        if other is None:
            return Seen(name=name, agrees=None, said="a weight that the candidate has not")
        one = _weight(self.before.walk, pair.before, name, place)
        said = difference(one, other, self.before.home, self.after.home)
        return Seen(name=name, agrees=not said, said=f"a weight: {said or 'the same'}")

    def _seen_sparse(self, pair: Pair, place: int, weight: Any) -> Seen:
        name, node = weight.values.name, pair.after
        names = (name, *node.inputs[place : place + 1])
        other = next((found for n in names if (found := sparse(node.scope, n)) is not None), None)
        if other is None:
            return Seen(name=name, agrees=None, said="a sparse weight that the candidate has not")
        said = sparse_difference(weight, other, self.before.home, self.after.home)
        return Seen(name=name, agrees=not said, said=f"a sparse weight: {said or 'the same'}")


def _weight(walk: Walk, node: Node, name: str, place: int) -> Any:
    """The tensor of that name, as the node sees it; else the one that the node reads at that place."""
    found = stored(walk, node.scope, name)
    if found is None and place < len(node.inputs) and node.inputs[place]:
        found = stored(walk, node.scope, node.inputs[place])
    return found


def _key(pair: Pair) -> str:
    return f"{pair.before.scope.path}{pair.value}"


def _looked_at(pair: Pair, first: list[Any], second: list[Any]) -> bool:
    """Whether both sides have an array; sequences and maps have no one form."""
    sides = ((first, pair.at), (second, pair.other_at))
    return all(isinstance(answer.get(at), np.ndarray) for side, at in sides for answer in side)


def _spans(left: list[Answers], pairs: Sequence[Pair]) -> dict[str, Span]:
    known = spans(left, {})
    for pair in pairs:
        span = known[_key(pair)]
        span.axis = span.boxes = None
        if pair.before.scope.path and span.epsilon:
            span.epsilon = _FLOAT32  # led out as float64, computed as whatever the branch has
    return known


def _compared(
    known: dict[str, Span], left: list[Answers], right: list[Answers], noise: dict[str, Any] | None = None
) -> Tallies:
    tallies = Tallies(known, noise or {})
    for number, (a, b) in enumerate(zip(left, right, strict=True)):
        tallies.add(number, a, b)
    return tallies


def _suspect(tallies: Tallies, key: str) -> bool:
    tally = tallies.tallies.get(key)
    return key in tallies.reshaped or tally is None or tally.odd is not None or judging.excess(tally) > 1


def _kind(tallies: Tallies, key: str) -> str | None:
    tally = tallies.tallies.get(key)
    known = tallies.noise.get(key)
    if key in tallies.reshaped and tallies.reshaped_share(key) > (known.reshaped if known else 0.0):
        return "form"
    if tally is None:
        return None
    if tally.odd is not None:
        return "not finite"
    return "differs" if judging.excess(tally) > 1 else None


def _forms(told: str) -> tuple[str, str]:
    before, _, after = told.partition(" became ")
    return before.rpartition(": ")[2], after
