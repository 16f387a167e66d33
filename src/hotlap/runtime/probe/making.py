"""Rows to lay beside each other: real ones, others of the same kind, and neighbours that no row expects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hotlap.runtime.feeds import make_feed
from hotlap.tensors import TensorSpec

__all__ = ["NEIGHBOURS", "Rows", "constant", "is_mask", "varied"]

Array = npt.NDArray[Any]
Row = dict[str, Array]

NEIGHBOURS = ("ordinary", "loud", "extreme", "nan", "zeros", "short", "marked")
"""Kinds of neighbours: another row of the same kind; one of 50 times its values; one of 10,000 times, signs
in turn; NaN; all zero, or empty text; one whose mask ends half-way, or is the opposite where it has no half;
one of other positions and token types."""

_LOUD = 50.0
_EXTREME = 1e4
_MASKED = -1e4
"""What is added to masked places by models that add their mask."""
_MOST_OWN = 16
_DRAWS = 8


class Rows:
    """The rows of a feed, and others made from it.

    Args:
        specs: the model's inputs.
        feed: one that runs.
        axes: input to its axis of rows; what the other inputs hold is shared by all rows.
        limits: input to how many ids there are.
    """

    def __init__(
        self,
        specs: Sequence[TensorSpec],
        feed: Mapping[str, Array],
        axes: Mapping[str, int],
        limits: Mapping[str, int],
    ) -> None:
        self._specs = {s.name: s for s in specs}
        self._feed = feed
        self._limits = limits
        self.axes = axes
        name, axis = next(iter(axes.items()))
        self.count = feed[name].shape[axis]

    def row(self, number: int) -> Row:
        """A row of the feed itself."""
        return {n: np.take(self._feed[n], [number], axis) for n, axis in self.axes.items()}

    def other(self) -> Row | None:
        """A row that differs from row 0: the feed's own, or one of the same kind; None: there is none."""
        row = self.row(0)
        own = (self.row(n) for n in range(1, min(self.count, _MOST_OWN)))
        found = next((r for r in own if not all(_equal(r[n], row[n]) for n in row)), None)
        # A row of a single id may come out as it was: the next draw may not.
        made = (self.neighbour("ordinary", seed) for seed in range(1, _DRAWS))
        return found or next((r for r in made if r), None)

    def neighbour(self, kind: str, seed: int = 0) -> Row | None:
        """A row of one of the `NEIGHBOURS`; None where the inputs have nothing to make it of."""
        base = self.row(0)
        if kind == "nan" and all(a.dtype.kind != "f" for a in base.values()):
            return None
        if kind == "short" and not any(is_mask(self._specs[n]) for n in base):
            return None
        made = {n: self._neighbour(kind, n, array, seed) for n, array in base.items()}
        same = all(_equal(made[n], base[n]) for n in base)
        return None if same else made

    def stacked(self, rows: Sequence[Row]) -> dict[str, Array]:
        """The feed with these rows instead of its own."""
        return {
            n: np.concatenate([r[n] for r in rows], self.axes[n]) if n in self.axes else array
            for n, array in self._feed.items()
        }

    def _neighbour(self, kind: str, name: str, array: Array, seed: int) -> Array:
        spec, axis = self._specs[name], self.axes[name]
        if kind == "marked":
            return _opposite(array) if _is_kept(spec) and array.dtype.kind in "iu" else array
        other = varied(spec, array, self._limits.get(name), seed + 1)
        if is_mask(spec):
            return _short(array, axis) if kind == "short" else array
        if array.dtype.kind == "f":
            return _strange(kind, other)
        if kind in ("extreme", "zeros") and spec.dtype is not None and spec.dtype.is_integer:
            return np.zeros_like(array)
        if kind == "zeros" and array.dtype == object:
            return np.full_like(array, "")
        if kind == "loud":
            return constant(spec, other, self._limits.get(name))
        return other


def is_mask(spec: TensorSpec) -> bool:
    return "mask" in spec.name.casefold() or spec.type == "tensor(bool)"


def varied(spec: TensorSpec, array: Array, limit: int | None, seed: int) -> Array:
    """Other values of the same kind: those of the array in another order, or, where they are all equal, made.

    Masks, positions and token types stay.

    Args:
        limit: how many ids there are; None: unknown, and no id is used that the array does not hold, but for
            0 and 1.
    """
    if is_mask(spec) or array.size == 0 or _is_kept(spec):
        return array
    rng = np.random.default_rng(seed)
    if spec.dtype is not None and spec.dtype.is_integer and (limit or spec.dtype.bits == 8):
        return make_feed([spec], shapes={spec.name: array.shape}, limits=_limit(spec, limit), seed=seed)[
            spec.name
        ]
    mixed: Array = rng.permutation(array.ravel()).reshape(array.shape)
    if not _equal(mixed, array):
        return mixed
    if array.dtype.kind in "iu" and not bool(((array == 0) | (array == 1)).all()):
        return array
    return make_feed([spec], shapes={spec.name: array.shape}, seed=seed)[spec.name]


def constant(spec: TensorSpec, array: Array, limit: int | None, number: int = 0) -> Array:
    """Ids all of one value that is known to be one, the largest first; anything else as it is."""
    if is_mask(spec) or array.dtype.kind not in "iu" or array.size == 0 or _is_kept(spec):
        return array
    known = [limit - 1, limit // 2, limit // 3] if limit else np.unique(array)[::-1].tolist()
    return np.full_like(array, known[min(number, len(known) - 1)])


def _is_kept(spec: TensorSpec) -> bool:
    return any(word in spec.name.casefold() for word in ("position", "token_type", "segment"))


def _limit(spec: TensorSpec, limit: int | None) -> dict[str, int]:
    return {spec.name: limit} if limit else {}


def _strange(kind: str, array: Array) -> Array:
    top = float(np.finfo(array.dtype).max) / 8
    with np.errstate(over="ignore", invalid="ignore"):
        if kind == "loud":
            return np.clip(array.astype(np.float64) * _LOUD, -top, top).astype(array.dtype)
        if kind == "extreme":
            size = _EXTREME * max(1.0, float(np.abs(array.astype(np.float64)).max(initial=0.0)))
            signs = np.where(np.arange(array.size).reshape(array.shape) % 2, -1.0, 1.0)
            return np.asarray(signs * min(size, top)).astype(array.dtype)
    if kind in ("nan", "zeros"):
        return np.full_like(array, np.nan if kind == "nan" else 0)
    return array


def _short(array: Array, axis: int) -> Array:
    made = array.copy()
    others = [a for a in range(array.ndim) if a != axis]
    if others:
        last = others[-1]
        cut = [slice(None)] * array.ndim
        cut[last] = slice((array.shape[last] + 1) // 2, None)
        made[tuple(cut)] = 0
    return _opposite(array) if _equal(made, array) else made


def _opposite(array: Array) -> Array:
    """1 for 0, and 0 for anything else."""
    return np.where(array == 0, _MASKED if array.dtype.kind == "f" else 1, 0).astype(array.dtype)


def _equal(one: Array, other: Array) -> bool:
    same = one == other
    if one.dtype.kind in "fc":
        same |= (one != one) & (other != other)
    return bool(np.all(same))
