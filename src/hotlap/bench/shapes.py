"""Which shapes requests have: a mix of shapes, each with its weight, and feeds drawn from it.

A mix is written ``NAME=SHAPE[:WEIGHT],SHAPE[:WEIGHT],…``. A shape is its sizes with ``x`` between them; in
place of a size may stand ``{SIZE:WEIGHT,…}`` or ``{FIRST..LAST}`` (each size in between equally often)::

    x=1x3x48x{160:0.5,320:0.3,640:0.2}      an input of the model
    L={16..128}                             a symbol of its signature, in every input at once
    x=1x3x32x32:9,1x3x640x640:1             whole shapes
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from hotlap.errors import UsageError

__all__ = ["Choice", "ShapeMix", "draw_shapes", "load_mix", "parse_mix", "split_symbols"]

Shapes = dict[str, tuple[int, ...]]
MOST = 4096
"""Different shapes that one mix may have."""
_COMMA_OUTSIDE = re.compile(r",(?![^{]*\})")
_AXIS = re.compile(r"\{[^{}]*\}|\d+")


class Choice(msgspec.Struct, frozen=True):
    """Shapes that come together, by input or symbol, and how often relative to the mix's other choices."""

    weight: float
    shapes: Shapes


class ShapeMix(msgspec.Struct, frozen=True):
    """The choices of one mix; several mixes are drawn from independently of each other."""

    choices: tuple[Choice, ...]


def parse_mix(text: str) -> ShapeMix:
    """A mix as the module's text tells it; a symbol is a shape of one size until a signature is at hand.

    Raises:
        UsageError: it cannot be read; the message says which part.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f'shapes "{text}": write NAME=SHAPE, e.g. x=1x3x48x{{160:0.5,320:0.5}}')
    choices = [
        Choice(weight, {name.strip(): shape})
        for part in _COMMA_OUTSIDE.split(value)
        for weight, shape in _expanded(part.strip(), text)
    ]
    return _checked(choices, text)


def load_mix(path: str | Path) -> ShapeMix:
    """The shapes that a recording counted (its ``shapes.json``), all inputs of a request together.

    Raises:
        UsageError: missing, or no such file.
    """
    try:
        table = msgspec.json.decode(Path(path).read_bytes(), type=_Counted)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except msgspec.DecodeError as error:
        raise UsageError(f"{path}: no shapes of a recording: {error}") from error
    return _checked([Choice(float(one.count), one.shapes) for one in table.shapes], str(path))


def draw_shapes(mixes: Sequence[ShapeMix], count: int, seed: int = 0) -> list[Shapes]:
    """`count` requests' shapes; of each mix every choice comes as often as its weight says, to within one.

    Systematic sampling: the shares hold in a small number of requests too, where independent draws would not.
    """
    draw = np.random.default_rng(seed)
    found: list[Shapes] = [{} for _ in range(count)]
    for mix in mixes:
        shares = np.cumsum([c.weight for c in mix.choices])
        places = (np.arange(count) + draw.random()) / count * shares[-1]
        picks = np.searchsorted(shares, places, side="right").clip(max=len(mix.choices) - 1)
        for shapes, pick in zip(found, draw.permutation(picks), strict=True):
            shapes.update(mix.choices[int(pick)].shapes)
    return found


def split_symbols(
    shapes: Shapes, inputs: Mapping[str, object], symbols: Sequence[str]
) -> tuple[Shapes, dict[str, int]]:
    """Shapes of inputs, and sizes of symbols. A name that is neither stays, for `make_feed` to refuse."""
    sizes = {n: s[0] for n, s in shapes.items() if n not in inputs and n in symbols and len(s) == 1}
    return {n: s for n, s in shapes.items() if n not in sizes}, sizes


class _Count(msgspec.Struct):
    count: int
    shapes: Shapes


class _Counted(msgspec.Struct):
    format: int
    shapes: list[_Count]


def _checked(choices: list[Choice], where: str) -> ShapeMix:
    if not choices or len(choices) > MOST:
        raise UsageError(f'shapes "{where}": {len(choices)} different shapes; there may be 1 to {MOST}')
    if any(not 0 < c.weight < float("inf") for c in choices):
        raise UsageError(f'shapes "{where}": every weight must be more than 0')
    return ShapeMix(tuple(choices))


def _expanded(part: str, text: str) -> list[tuple[float, tuple[int, ...]]]:
    """One shape, its braces multiplied out: (weight, shape) each."""
    shape, colon, tail = part.rpartition(":")
    if not colon or "}" in tail:
        shape, tail = part, "1"
    axes = _AXIS.findall(shape)
    if not axes or "x".join(axes) != shape:
        raise UsageError(
            f'shapes "{text}": "{part}" is no shape; write sizes with an x between them, e.g. 1x3x48x160'
        )
    sizes = [_sizes(axis, text) for axis in axes]
    if np.prod([len(s) for s in sizes]) > MOST:
        raise UsageError(f'shapes "{text}": more than {MOST} different shapes')
    scale = _number(tail, text)
    return [
        (scale * float(np.prod([w for w, _ in combination])), tuple(size for _, size in combination))
        for combination in itertools.product(*sizes)
    ]


def _sizes(axis: str, text: str) -> list[tuple[float, int]]:
    """The sizes of one axis with weights that add up to 1."""
    if not axis.startswith("{"):
        return [(1.0, int(axis))]
    first, dots, last = axis[1:-1].partition("..")
    if dots:
        span = range(_size(first, text), _size(last, text) + 1)
        if not 0 < len(span) <= MOST:
            raise UsageError(f'shapes "{text}": "{axis}" has {len(span)} sizes; there may be 1 to {MOST}')
        return [(1 / len(span), size) for size in span]
    pairs = [part.partition(":") for part in axis[1:-1].split(",")]
    sizes = [(_number(weight if colon else "1", text), _size(size, text)) for size, colon, weight in pairs]
    total = sum(w for w, _ in sizes)
    return [(w / total, size) for w, size in sizes] if total > 0 else sizes


def _size(text: str, whole: str) -> int:
    if not text.strip().isdecimal():
        raise UsageError(f'shapes "{whole}": "{text}" is no size')
    return int(text)


def _number(text: str, whole: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise UsageError(f'shapes "{whole}": "{text}" is no weight') from error
