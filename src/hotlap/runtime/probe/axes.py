"""Which axes of a model's inputs may change, and along which of them its rows may lie.

Declarations are hints here: equal symbols move together, a symbol called "batch" is tried first. What the
model does when they move is the evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hotlap.tensors import TensorSpec

__all__ = ["Places", "free_axes", "is_batch", "place_name", "resized", "row_choices", "stated"]

Array = npt.NDArray[Any]
Places = tuple[tuple[str, int], ...]
"""(input, axis) of all that must have the same size."""

_BATCH = frozenset({"n", "b", "bs"})
_LENGTH = frozenset({"t", "l", "s", "h", "w"})
_MOST_CHOICES = 6
_LENGTH_PARTS = ("seq", "len", "time", "frame", "step", "sample", "token", "width", "height")


def is_batch(symbol: object) -> bool:
    """Whether people who write this symbol mean the number of rows."""
    word = str(symbol).casefold()
    return isinstance(symbol, str) and (word in _BATCH or "batch" in word)


def _is_length(symbol: object) -> bool:
    word = str(symbol).casefold()
    return isinstance(symbol, str) and (word in _LENGTH or any(part in word for part in _LENGTH_PARTS))


def place_name(spec: TensorSpec, axis: int) -> str:
    """The symbol of that axis, or ``input[axis]`` where it has none."""
    dim = stated(spec, axis)
    return dim if isinstance(dim, str) else f"{spec.name}[{axis}]"


def stated(spec: TensorSpec, axis: int) -> int | str | None:
    """What the model says of that axis; nothing of what is no tensor (an optional input, say)."""
    return spec.shape[axis] if spec.ranked and axis < len(spec.shape) and spec.dtype is not None else None


def free_axes(inputs: Sequence[TensorSpec], feed: Mapping[str, Array]) -> dict[str, Places]:
    """Symbol, or ``input[axis]``, to the places that move with it: all that is not of a fixed size.

    Args:
        feed: one that runs; it says how many axes an input has where the model does not.
    """
    found: dict[str, Places] = {}
    for spec in inputs:
        # What is no tensor (an optional input, say) declares no axis that could move.
        shape = feed[spec.name].shape if spec.name in feed and spec.dtype is not None else ()
        for axis in range(len(shape)):
            if not isinstance(stated(spec, axis), int):
                key = place_name(spec, axis)
                found[key] = (*found.get(key, ()), (spec.name, axis))
    return found


def resized(array: Array, axis: int, size: int) -> Array:
    """The array cut, or repeated from its start, to that size: its values stay ones that the model takes."""
    made: Array = np.take(array, np.arange(size) % array.shape[axis], axis)
    return made


def row_choices(
    inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec], feed: Mapping[str, Array]
) -> list[dict[str, int]]:
    """Ways in which rows may lie in the inputs, likeliest first: input to axis. Inputs left out hold what all
    rows share.

    Empty where no axis could be one of rows: each is fixed, or lies behind a first axis that is.
    """
    specs = {s.name: s for s in inputs if s.name in feed}
    free = free_axes(inputs, feed)
    choices: list[dict[str, int]] = []
    seeds = _seeds(specs, outputs, free)
    # The input with most axes is what the model is about: rows that lie in its weights only are none.
    movable = {n for key in seeds for n, _ in free[key]}
    main = max((n for n in specs if n in movable), key=lambda n: feed[n].ndim, default="")
    for key in seeds:
        alone = _as_choice(free[key])
        if alone is None or any(feed[n].shape[a] == 0 for n, a in alone.items()):
            continue
        for choice in (_joined(specs, free, feed, alone), alone):
            if choice not in choices and main in choice:
                choices.append(choice)
    return choices[:_MOST_CHOICES]


def _seeds(
    specs: Mapping[str, TensorSpec], outputs: Sequence[TensorSpec], free: Mapping[str, Places]
) -> list[str]:
    named = [key for key, places in free.items() if is_batch(_symbol(specs, places))]
    if named:
        return named
    first = [key for key, places in free.items() if any(axis == 0 for _, axis in places)]
    second = [key for key, places in free.items() if any(_may_be_second(specs[n], a) for n, a in places)]
    common = [k for k in second if outputs and all(k in o.shape for o in outputs)]
    # Time first, batch second: said by the names, or by what the outputs have in common.
    bold = [
        k
        for k in first
        if not _is_length(_symbol(specs, free[k])) and (not common or any(k in o.shape for o in outputs))
    ]
    return bold or list(dict.fromkeys([*common, *second, *first]))


def _symbol(specs: Mapping[str, TensorSpec], places: Places) -> object:
    name, axis = places[0]
    return specs[name].shape[axis] if specs[name].ranked else None


def _may_be_second(spec: TensorSpec, axis: int) -> bool:
    """Axis 1 behind layers of a recurrent state or behind time; behind a fixed 1 the rows are that 1."""
    if axis != 1 or not spec.ranked or len(spec.shape) < 3:
        return False
    before = spec.shape[0]
    return before > 1 if isinstance(before, int) else before is not None


def _as_choice(places: Places) -> dict[str, int] | None:
    """None where one input has it on two axes: rows cannot be laid along both."""
    found = dict(places)
    return found if len(found) == len(places) else None


def _joined(
    specs: Mapping[str, TensorSpec],
    free: Mapping[str, Places],
    feed: Mapping[str, Array],
    alone: dict[str, int],
) -> dict[str, int]:
    """The choice with every other input moving along, where it has a free axis of the same size."""
    name, axis = next(iter(alone.items()))
    rows = feed[name].shape[axis]
    found = dict(alone)
    for places in free.values():
        new = [(n, a) for n, a in places if n not in found and a < 2 and feed[n].shape[a] == rows]
        if len(new) == len(places) == len({n for n, _ in new}) and not _is_length(_symbol(specs, places)):
            found.update(new)
    return found
