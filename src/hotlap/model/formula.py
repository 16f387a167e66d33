"""A count that hangs on sizes, as a sum of products: ``batch*(10.6M*sequence + 768*sequence²)``."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import msgspec

__all__ = ["Formula", "Term", "degree", "fitted", "short"]

HIGHEST = 2
"""The highest power of one size: attention grows with the square of the length."""


class Term(msgspec.Struct, frozen=True):
    """A number times sizes.

    Attributes:
        factor: the number.
        powers: symbol to its power, 1 or more.
    """

    factor: int | float
    powers: dict[str, int] = {}


class Formula(msgspec.Struct, frozen=True):
    """A sum of terms, highest powers first; without terms it is 0. ``str`` gives it for people, rounded."""

    terms: tuple[Term, ...] = ()

    @property
    def symbols(self) -> tuple[str, ...]:
        """The sizes that must be given to `at`."""
        return tuple(dict.fromkeys(s for term in self.terms for s in term.powers))

    def at(self, sizes: Mapping[str, int]) -> int:
        """The count at these sizes.

        Raises:
            KeyError: a symbol has no size.
        """
        total = 0.0 if any(isinstance(t.factor, float) for t in self.terms) else 0
        for term in self.terms:
            total += term.factor * math.prod(sizes[s] ** p for s, p in term.powers.items())
        return round(total)

    def __str__(self) -> str:
        shared = {
            s: least for s in self.symbols if (least := min(term.powers.get(s, 0) for term in self.terms)) > 0
        }
        inner = " + ".join(_text(t, shared) for t in self.terms).replace("+ -", "- ") or "0"
        if not shared or len(self.terms) == 1:
            return " + ".join(_text(t, {}) for t in self.terms).replace("+ -", "- ") or "0"
        return f"{_product(shared)}*({inner})"


def _text(term: Term, shared: Mapping[str, int]) -> str:
    left = {s: p - shared.get(s, 0) for s, p in term.powers.items() if p > shared.get(s, 0)}
    if not left:
        return short(term.factor)
    return _product(left) if term.factor == 1 else f"{short(term.factor)}*{_product(left)}"


def _product(powers: Mapping[str, int]) -> str:
    return "*".join(s + {1: "", 2: "²"}.get(p, f"^{p}") for s, p in powers.items())


def short(number: float) -> str:
    """Three digits and a letter for thousands: ``10.6M``. Small whole numbers stay whole."""
    for power, letter in ((12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if abs(number) >= 0.9995 * 10**power:
            return f"{float(f'{number / 10**power:.3g}'):g}{letter}"
    return f"{float(f'{number:.3g}'):g}"


def degree(sizes: Sequence[int], counts: Sequence[int]) -> int | None:
    """The power with which counts grow along sizes, 0 to `HIGHEST`; None where they follow no such power.

    Args:
        sizes: different ones, at least `HIGHEST` + 2.
        counts: one for each.
    """
    for power in range(HIGHEST + 1):
        factors = _coefficients(sizes[: power + 1], [Fraction(c) for c in counts[: power + 1]])
        if all(
            sum(f * size**p for p, f in enumerate(factors)) == count
            for size, count in zip(sizes, counts, strict=True)
        ):
            return power
    return None


def fitted(grid: Mapping[str, Sequence[int]], counts: Mapping[tuple[int, ...], int]) -> Formula:
    """The only formula, of powers below the number of sizes of each symbol, with these counts on the grid.

    Args:
        grid: symbol to its sizes.
        counts: one size of each symbol, in the grid's order, to the count there; all combinations.
    """
    values = {at: Fraction(count) for at, count in counts.items()}
    for axis, sizes in enumerate(grid.values()):
        # One axis after the other: sizes become powers.
        values = {
            (*at[:axis], power, *at[axis + 1 :]): factor
            for at in values
            if at[axis] == sizes[0]
            for power, factor in enumerate(
                _coefficients(sizes, [values[(*at[:axis], s, *at[axis + 1 :])] for s in sizes])
            )
        }
    terms = []
    for powers in itertools.product(*(range(len(s) - 1, -1, -1) for s in grid.values())):
        factor = values[powers]
        if factor:
            number = int(factor) if factor.denominator == 1 else float(factor)
            terms.append(Term(number, {s: p for s, p in zip(grid, powers, strict=True) if p}))
    return Formula(tuple(sorted(terms, key=lambda t: -sum(t.powers.values()))))


def _coefficients(sizes: Sequence[int], counts: Sequence[Fraction]) -> list[Fraction]:
    """Of the polynomial through the points, lowest power first; by Newton's divided differences."""
    divided = list(counts)
    for level in range(1, len(sizes)):
        for i in range(len(sizes) - 1, level - 1, -1):
            divided[i] = (divided[i] - divided[i - 1]) / (sizes[i] - sizes[i - level])
    result = [Fraction(0)] * len(sizes)
    for i in range(len(sizes) - 1, -1, -1):  # Horner's scheme: result * (x - size) + divided
        shifted = [Fraction(0), *result[:-1]]
        result = [high - low * sizes[i] for high, low in zip(shifted, result, strict=True)]
        result[0] += divided[i]
    return result
