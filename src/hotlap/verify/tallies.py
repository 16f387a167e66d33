"""Counting the differences of all outputs of one candidate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from hotlap.verify.answers import parts, same_table
from hotlap.verify.columns import Columns, matched
from hotlap.verify.span import Span
from hotlap.verify.tally import Tally
from hotlap.verify.verdict import Noise, OutputDiff

__all__ = ["Reshaped", "Tallies"]


class Reshaped(NamedTuple):
    """Inputs on which an output has another form: how many, the first of them in words, and its number."""

    times: int
    told: str
    input: int


@dataclass(slots=True)
class Tallies:
    """All outputs of one candidate against the reference.

    Attributes:
        spans: by name of the output's part.
        noise: the same; empty where it is not known (yet).
        reshaped: by output: the inputs that gave another form.
        inputs: how many were compared.
        refused: how many of them the candidate did not take, and the first of those in words.
        lost: in words, the first output that is missing or has another element type: what noise never does.
        outputs: by name of a part: the output that it is of.
        first_odd: number of the first input that was refused, or gave another form.
        columns: what a tensor's columns hold, for outputs that are maps on the other side.
        guessed: such outputs of which nobody says it.
    """

    spans: Mapping[str, Span]
    noise: Mapping[str, Noise] = field(default_factory=dict)
    tallies: dict[str, Tally] = field(default_factory=dict)
    reshaped: dict[str, Reshaped] = field(default_factory=dict)
    inputs: int = 0
    refused: tuple[int, str] | None = None
    lost: str | None = None
    outputs: dict[str, str] = field(default_factory=dict)
    first_odd: int | None = None
    columns: Columns = field(default_factory=dict)
    guessed: set[str] = field(default_factory=set)

    def refuse(self, number: int, told: str) -> None:
        """The candidate did not take input `number`."""
        self.inputs += 1
        times, first = self.refused or (0, told)
        self.refused = times + 1, first
        self._odd(number)

    def _odd(self, number: int) -> None:
        self.first_odd = number if self.first_odd is None else self.first_odd

    def add(self, number: int, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        """The answers of both sides to input `number`. What only the candidate has is not looked at."""
        self.inputs += 1
        for name, value in before.items():
            form, arrays = parts(name, value)
            for label, _ in arrays:
                self.tallies.setdefault(label, Tally(label, self.spans[label], self.noise.get(label)))
                self.outputs[label] = name
            if name not in after:
                told = f'output "{name}" is missing'
                self.lost = self.lost or told
                self._reshape(number, name, told)
                continue
            other, others = parts(name, after[name])
            if form != other and not same_table(form, other):
                told = f'output "{name}" of input {number}: {_told(form)} became {_told(other)}'
                if isinstance(value, np.ndarray) and form[0] != other[0]:
                    self.lost = self.lost or told
                self._reshape(number, name, told)
                continue
            if form != other:
                others = self._in_order(name, form, other, others)
            for (label, a), (_, b) in zip(arrays, others, strict=True):
                self.tallies[label].add(number, a, b)

    def _in_order(
        self, name: str, form: Any, other: Any, others: list[tuple[str, Any]]
    ) -> list[tuple[str, Any]]:
        """A tensor's columns beside those of maps, whose keys are sorted."""
        ((label, array),) = others
        array, sure = matched(form, other, array, self.columns.get(name, ()))
        if not sure:
            self.guessed.add(name)
        return [(label, array)]

    def _reshape(self, number: int, name: str, told: str) -> None:
        self._odd(number)
        known = self.reshaped.get(name, Reshaped(0, told, number))
        self.reshaped[name] = known._replace(times=known.times + 1)

    def reshaped_share(self, label: str) -> float:
        """Of the inputs, those on which the output that the part is of has another form."""
        known = self.reshaped.get(self.outputs.get(label, label))
        return known.times / self.inputs if known else 0.0

    def usually_reshaped(self, output: str) -> float:
        """The same share, as far as the noise goes."""
        labels = (label for label, name in self.outputs.items() if name == output)
        return max((self.noise[label].reshaped for label in labels if label in self.noise), default=0.0)

    def as_noise(self) -> dict[str, Noise]:
        """The differences as noise: of a run in which nothing but rounding moved."""
        return {d.name: _as_noise(d, floats=self.spans[d.name].epsilon > 0) for d in self.diffs()}

    def diffs(self) -> tuple[OutputDiff, ...]:
        return tuple(t.diff(self.reshaped_share(t.name)) for t in self.tallies.values())


def _as_noise(diff: OutputDiff, *, floats: bool) -> Noise:
    if floats:
        return Noise(max_rel=diff.max_rel, rms=diff.rms, reshaped=diff.reshaped)
    return Noise(mismatched=1 - diff.within, reshaped=diff.reshaped)


def _told(form: Any) -> str:
    if isinstance(form, tuple) and len(form) == 2 and isinstance(form[1], tuple):
        return f"{form[0]}[{', '.join(map(str, form[1]))}]"
    text = str(form)
    return text if len(text) < 80 else f"{text[:77]}..."
