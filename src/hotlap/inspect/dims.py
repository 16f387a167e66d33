"""Sizes of axes, of which some are symbols: what broadcasting, reshaping and joining make of them.

Two different symbols may stand for equal sizes, so nothing is said of them; a symbol against a number is a
`Clash`: the axis is declared to take any size and takes few.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Clash", "Dims", "Size", "broadcast", "joined", "reshaped"]

Size = int | str | None
"""A size, a symbol, or None where nothing is known."""
Dims = tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class Clash:
    """A symbol that cannot take any size.

    Attributes:
        symbol: it.
        works: the sizes that it can take here; () where it takes one alone that is not known.
    """

    symbol: str
    works: tuple[int, ...]


def broadcast(shapes: Sequence[Dims | None]) -> tuple[Dims | None, list[Clash]]:
    """The shape of an elementwise result (ONNX's multidirectional broadcasting), and what clashes."""
    known = [s for s in shapes if s is not None]
    if len(known) != len(shapes) or not known:
        return None, []
    rank = max(map(len, known))
    aligned = [(*(1,) * (rank - len(s)), *s) for s in known]
    clashes: list[Clash] = []
    dims = tuple(_one(sizes, clashes) for sizes in zip(*aligned, strict=True))
    return dims, clashes


def _one(sizes: tuple[Size, ...], clashes: list[Clash]) -> Size:
    rest = {s for s in sizes if s != 1}
    numbers = {s for s in rest if isinstance(s, int)}
    symbols = {s for s in rest if isinstance(s, str)}
    if len(numbers) == 1:
        number = next(iter(numbers))
        clashes += [Clash(s, (1, number)) for s in sorted(symbols) if number > 1]
        return number
    if not rest:
        return 1
    return next(iter(symbols)) if len(rest) == 1 and symbols else None


def joined(shapes: Sequence[Dims | None], axis: int) -> tuple[Dims | None, list[Clash]]:
    """The shape of tensors laid one after the other along an axis (``Concat``), and what clashes."""
    known = [s for s in shapes if s is not None]
    if len(known) != len(shapes) or not known or len({len(s) for s in known}) > 1:
        return None, []
    rank = len(known[0])
    if not -rank <= axis < rank:
        return None, []
    axis %= rank
    clashes: list[Clash] = []
    dims: list[Size] = []
    for at, sizes in enumerate(zip(*known, strict=True)):
        dims.append(_sum(sizes) if at == axis else _same(sizes, clashes))
    return tuple(dims), clashes


def _sum(sizes: Sequence[Size]) -> Size:
    if len(sizes) == 1:
        return sizes[0]
    numbers = [s for s in sizes if isinstance(s, int)]
    return sum(numbers) if len(numbers) == len(sizes) else None


def _same(sizes: Sequence[Size], clashes: list[Clash]) -> Size:
    numbers = {s for s in sizes if isinstance(s, int)}
    symbols = {s for s in sizes if isinstance(s, str)}
    if len(numbers) == 1:
        number = next(iter(numbers))
        clashes += [Clash(s, (number,)) for s in sorted(symbols)]
        return number
    return next(iter(symbols)) if not numbers and len(symbols) == 1 else None


def reshaped(data: Dims | None, target: Dims, zero_is_size: bool = False) -> tuple[Dims, list[Clash]]:
    """The shape that ``Reshape`` gives, and what clashes.

    Args:
        data: the shape before; None: not even its rank is known.
        target: what the node asks for: sizes, -1 for what is left, 0 for the size that was there before.
        zero_is_size: 0 means a size of 0 (``allowzero``).
    """
    asked = [_copied(data, at, size, zero_is_size) for at, size in enumerate(target)]
    given = None if data is None or None in data else data
    if -1 in asked:
        return _with_rest(asked, given), []
    fixed = [s for s in asked if isinstance(s, int)]
    if given is None or len(fixed) != len(asked):
        return tuple(asked), []
    # As many elements must come out as went in: a symbol left on one side alone can take one size at most.
    symbols = [s for s in given if isinstance(s, str)]
    count, each = math.prod(fixed), math.prod(s for s in given if isinstance(s, int))
    works = (count // each,) if len(symbols) == 1 and each and count % each == 0 else ()
    return tuple(asked), [Clash(s, works) for s in dict.fromkeys(symbols)]


def _copied(data: Dims | None, at: int, size: Size, zero_is_size: bool) -> Size:
    if size != 0 or zero_is_size:
        return size
    return data[at] if data is not None and at < len(data) else None


def _with_rest(asked: list[Size], given: Dims | None) -> Dims:
    rest: Size = None
    others = [s for s in asked if s != -1]
    if given is not None and None not in others and asked.count(-1) == 1:
        rest = _quotient(given, others)
    return tuple(rest if s == -1 else s for s in asked)


def _quotient(given: Sequence[Size], others: Sequence[Size]) -> Size:
    """The one size that is left of the elements; None where it is no single size or symbol."""
    left = Counter(s for s in given if isinstance(s, str))
    left.subtract(Counter(s for s in others if isinstance(s, str)))
    have = math.prod(s for s in given if isinstance(s, int))
    want = math.prod(s for s in others if isinstance(s, int))
    symbols = list(left.elements())
    if any(n < 0 for n in left.values()) or want <= 0 or have % want or len(symbols) > 1:
        return None
    if not symbols:
        return have // want
    return symbols[0] if have == want else None
