"""Are a row's answers its own? A row is run alone, beside copies of itself, and beside strangers.

The strangers are other rows, loud and extreme ones, NaN, zeros, and rows with a short mask. Whatever mixes
rows (a mean or a softmax over the batch, normalisation by the batch, quantisation by its range) is moved by
one of them. Only a model that passed everything is "independent"; what was not tried is "unknown".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Literal

from hotlap.runtime.probe.alike import SAME_SHAPE, gap, is_float, is_tensor, rounding, usable
from hotlap.runtime.probe.making import NEIGHBOURS
from hotlap.runtime.probe.structure import Structure
from hotlap.runtime.probe.tries import TIME_UP, OutOfTime, Tries

__all__ = ["MANY", "Verdict", "judge_rows"]

Row = dict[str, Any]
Kind = Literal["independent", "dependent", "unknown"]

MANY = 8
"""A larger number of rows: where a tenth of the time that is left is enough, rows are compared there too."""
_OWN_PLACES = (
    (0, 7),
    *((0, 2, 4, 6), (1, 3, 5, 7), (0, 1, 4, 5), (2, 3, 6, 7), (0, 1, 2, 3), (4, 5, 6, 7)),
)
"""Of `MANY` rows, which are the row that is watched; at the others are strangers. After the first: the bits
of the place's number and their opposites, so that each place is watched with a stranger at each other one."""
_BEYOND_DOUBT = 2.0**-5
"""A share of the range. A row alone and in a batch of copies of itself: more than this no reduced precision
explains (bfloat16 keeps 8 bits), less may be another kernel's rounding."""


@dataclass(frozen=True, slots=True)
class Verdict:
    rows: Kind
    why: str


@dataclass(frozen=True, slots=True)
class _Difference:
    """`sure`: no rounding explains it. `subject`: the row that it was seen on. `alone`: seen against the row
    alone, not against the same place among copies."""

    sure: bool
    subject: str
    alone: bool
    whole_numbers: bool
    said: str


class _Dependent(Exception):
    """Found while running: the reason."""


def judge_rows(tries: Tries, found: Structure, noise: float) -> Verdict:
    """Whether rows are independent of their neighbours.

    Args:
        found: with at least the counts 1, 2 and 3.
        noise: by how much equal runs differ, as a share of the range.
    """
    try:
        return _Judging(tries, found, noise).verdict()
    except _Dependent as reason:
        return Verdict("dependent", str(reason))
    except OutOfTime:
        return Verdict("unknown", f"{TIME_UP} before every kind of neighbour had been tried")


class _Judging:
    def __init__(self, tries: Tries, found: Structure, noise: float) -> None:
        self._tries, self._found, self._noise = tries, found, noise
        self._rows = found.rows
        self._differences: list[_Difference] = []
        self._mixed = ""

    def verdict(self) -> Verdict:
        one, other = self._rows.row(0), self._rows.other()
        if other is None:
            return Verdict("unknown", "no two different rows could be made of its inputs")
        alone = (self._found.copies[1], self._alone(other))
        strangers = dict(self._strangers())
        if not alone[1] or not strangers:
            return Verdict("unknown", "the model takes no other row than the one that was found")
        self._subjects = (one, other)
        self._beside_copies(alone)
        self._beside_strangers({kind: row for kind, (row, _) in strangers.items()})
        return self._judged(self._mute(alone, [a for _, a in strangers.values()]))

    # ── trying ────────────────────────────────────────────────────────────────────────────────────────

    def _alone(self, row: Row) -> Row:
        """Its answers; none where the model does not take it."""
        return self._tries.run(self._rows.stacked([row]))[0]

    def _strangers(self) -> Iterator[tuple[str, tuple[Row, Row]]]:
        """Neighbours that the model takes alone: (the row, its answers) by kind."""
        for kind in NEIGHBOURS:
            row = self._rows.neighbour(kind)
            answers = self._alone(row) if row else {}
            if row and answers:
                yield kind, (row, answers)

    def _together(self, rows: list[Row], label: str) -> Row:
        answers, said = self._tries.run(self._rows.stacked(rows))
        if said:
            raise _Dependent(f"rows that run alone do not run together ({label}): {said}")
        for name, axis in self._found.axes.items():
            if not is_tensor(answers[name]) or answers[name].shape[axis : axis + 1] != (len(rows),):
                shape = list(getattr(answers[name], "shape", ()))
                raise _Dependent(f'output "{name}" of {len(rows)} rows ({label}) came out as {shape}')
        return answers

    def _beside_copies(self, alone: tuple[Row, Row]) -> None:
        """Each subject alone, and in batches of copies of itself: other kernels, the same content."""
        self._copies = {("first", n): answers for n, answers in self._found.copies.items()}
        self._copies["second", 3] = self._together([self._subjects[1]] * 3, "copies")
        for subject, count in self._copies:
            self._against_alone(subject, alone[subject == "second"], count)

    def _against_alone(self, subject: str, alone: Row, count: int) -> None:
        """Compare each place among so many copies with the row alone."""
        for place in range(count):
            self._compare(subject, alone, self._found.split(self._copies[subject, count], place), count)

    def _beside_strangers(self, strangers: Mapping[str, Row]) -> None:
        """Batches of equal size whose other rows are strangers: the same kernels, other content."""
        first, second = self._subjects
        for number, (kind, row) in enumerate(strangers.items()):
            # A quiet row shows what a loud one would hide: one of a single id has a narrow range. Where equal
            # runs differ, the noise of the first row says nothing of rows on another scale.
            watched = kind not in ("nan", "extreme") and not self._noise
            if watched:
                self._copies[kind, 3] = self._together([row] * 3, "copies")
            names = ["first", "second"]
            names.insert(number % 3, kind if watched else "")
            rows = [first, second]
            rows.insert(number % 3, row)
            self._against_copies(rows, names, kind)
        kind = next((k for k in strangers if k != "ordinary"), "ordinary")
        self._against_copies([strangers[kind], first], ["", "first"], kind)
        self._among_many(strangers)

    def _among_many(self, strangers: Mapping[str, Row]) -> None:
        """What a model does from the fourth row on, as far as there is time for it."""
        first = self._subjects[0]
        cost = self._tries.cost(self._rows.stacked([first] * MANY))
        if cost * 2 > self._tries.left / 10:
            return
        self._copies["first", MANY] = self._together([first] * MANY, "copies")
        self._against_alone("first", self._found.copies[1], MANY)
        others = cycle(strangers.values())
        for own in _OWN_PLACES:
            rows = [first if place in own else next(others) for place in range(MANY)]
            self._against_copies(rows, ["first" if place in own else "" for place in range(MANY)], "many")
            if cost > self._tries.left / 40:
                break

    def _against_copies(self, rows: list[Row], subjects: list[str], kind: str) -> None:
        """Compare each subject (its name at its place, "" for what is none) with that place among copies."""
        answers = self._together(rows, kind)
        subject = next(s for s in subjects if s)
        for name in self._found.lacking:
            if (
                is_tensor(answers[name])
                and gap(self._copies[subject, len(rows)][name], answers[name]) > SAME_SHAPE
            ):
                self._mixed = self._mixed or name
        for place, subject in enumerate(subjects):
            if subject:
                copies = self._copies[subject, len(rows)]
                want, got = self._found.split(copies, place), self._found.split(answers, place)
                self._compare(subject, want, got, len(rows), kind)

    # ── comparing ─────────────────────────────────────────────────────────────────────────────────────

    def _compare(self, subject: str, want: Row, got: Row, count: int, kind: str = "") -> None:
        for name, answer in got.items():
            apart = gap(want[name], answer)
            rough = rounding(answer)
            if apart <= self._noise + (SAME_SHAPE if kind and rough else rough):
                continue
            sure = apart > self._noise + (rough if kind else _BEYOND_DOUBT)
            beside = f'a neighbour ("{kind}")' if kind else "copies of itself"
            much = "in whole numbers or shape" if apart == float("inf") else f"by {apart:.2g} of its range"
            said = f'output "{name}" of a row among {count} changes {much} beside {beside}'
            whole = not is_float(answer)
            self._differences.append(_Difference(sure, subject, not kind, whole, said))

    def _mute(self, alone: tuple[Row, Row], strange: list[Row]) -> str:
        """The first output that says the same whatever goes in, or nothing usable: it can prove nothing."""
        dumb = ""
        spoken = False
        for name in self._found.axes:
            differs = gap(alone[0][name], alone[1][name]) > 0
            answers = differs or any(gap(alone[0][name], s[name]) > 0 for s in strange)
            real = usable(alone[0][name]) and usable(alone[1][name])
            number = is_float(alone[0][name])
            if not real or (number and not differs):
                dumb = dumb or name
            spoken = spoken or (real and answers)
        return dumb or ("" if spoken else next(iter(self._found.axes), "none"))

    def _judged(self, mute: str) -> Verdict:
        if self._mixed:
            return Verdict(
                "dependent", f'output "{self._mixed}" has no axis of rows and changes with each of them'
            )
        sure = [d for d in self._differences if d.sure and not d.whole_numbers]
        # One whole number may hang on a tie that another kernel's rounding breaks; two rows hardly both do.
        whole = [d for d in self._differences if d.sure and d.whole_numbers]
        if len({d.subject for d in whole}) > 1:
            sure = sure or whole
        if sure:
            return Verdict("dependent", sure[0].said)
        if self._differences and not self._only_alone():
            return Verdict("unknown", f"{self._differences[0].said}, which rounding may explain")
        if self._found.lacking:
            name = self._found.lacking[0]
            fault = "has no axis of rows" if is_tensor(self._found.copies[1][name]) else "is no tensor"
            return Verdict("unknown", f'output "{name}" {fault}')
        if mute:
            return Verdict("unknown", f'output "{mute}" is the same for different rows, so it proves nothing')
        if self._differences:
            said = f"{self._differences[0].said}, and not among more copies: another kernel's rounding"
            return Verdict("independent", said)
        most = max(n for _, n in self._copies)
        said = "the same answers alone, beside copies, and beside strange rows"
        return Verdict("independent", f"{said}, among up to {most} rows")

    def _only_alone(self) -> bool:
        """Whether all that differs is a row alone, which has kernels of its own, while the places of batches
        of 2, 3 and `MANY` copies agree. A model that heeds the number of rows would go on to differ."""
        if ("first", MANY) not in self._copies or not all(
            d.alone and not d.sure and not d.whole_numbers for d in self._differences
        ):
            return False
        parts = [
            self._found.split(answers, place)
            for (subject, n), answers in self._copies.items()
            if subject == "first" and n > 1
            for place in range(n)
        ]
        return all(gap(parts[0][n], p[n]) <= self._noise + rounding(p[n]) for p in parts[1:] for n in p)
