"""Inputs made from a model's signature: to warm it, and to measure it where no real data is at hand.

A signature does not say everything: a convolutional net may want sides that divide by 32, a text model ids
below its table's size. `make_feed` guesses from types, shapes and names; `find_feed` tries until one runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hotlap.errors import InputError, ModelError
from hotlap.tensors import Dim, DType, TensorSpec, nearest

__all__ = ["find_feed", "make_feed"]

Array = npt.NDArray[Any]
Feed = dict[str, Array]

_SAMPLE_RATE = 16_000  # Hz; what speech models are trained on
_LARGEST = 2 << 30
"""Bytes of one made array. A signature may claim any size, and a system that promises more memory than it has
ends the process that believes it."""
_CHANNELS = (1, 3, 4)  # grey, RGB, RGBA


@dataclass(frozen=True, slots=True)
class _Guess:
    """Sizes for axes of which nothing is known: the sides of a picture, the length of a sequence."""

    height: int
    width: int
    length: int


_FIRST = _Guess(64, 64, 32)
# Sides: nets that halve five times want multiples of 32; recognisers of text lines are built for 32, 48 or 64
# rows; classifiers for 224. Lengths: 576 and 512 samples are the windows of speech detectors.
_GUESSES = (
    _FIRST,
    _Guess(48, 192, 576),
    _Guess(32, 128, 512),
    _Guess(224, 224, 128),
    _Guess(80, 160, 16),
    _Guess(320, 320, 256),
    _Guess(416, 416, 1),
    _Guess(640, 640, 2),
    _Guess(512, 512, 16_000),
)


def make_feed(
    specs: Sequence[TensorSpec],
    *,
    sizes: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    limits: Mapping[str, int] | None = None,
    seed: int = 0,
) -> Feed:
    """One feed that fits the signature; equal arguments give equal arrays.

    Floats are standard normal and never denormal; integers lie in [0, limit), limit 2 where none is given;
    masks are ones, token types zeros, positions count up; 8-bit integers take their whole range; text is
    one small letter a cell.

    Args:
        specs: the model's inputs.
        sizes: symbol to size. Symbols not named: 1 for batches, 32 for sequences, 64 for a picture's sides.
        shapes: input name to its whole shape; symbols in it take their size from there.
        limits: input name to how many ids there are.
        seed: of the random values.

    Raises:
        InputError: an input is no tensor, has no numpy dtype, or does not fit into memory; or `shapes`
            names an input that is not there.
    """
    return _make(specs, sizes or {}, shapes or {}, limits or {}, seed, _FIRST)


def find_feed(
    run: Callable[[Feed], object],
    specs: Sequence[TensorSpec],
    *,
    sizes: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    limits: Mapping[str, int] | None = None,
    seed: int = 0,
) -> Feed:
    """The first of some guesses that runs, smallest first.

    Args:
        run: what is tried; an `InputError` from it means that the feed did not fit.
        specs, sizes, shapes, limits, seed: as for `make_feed`.

    Raises:
        InputError: none ran; what the first one met.
    """
    first: InputError | None = None
    tried: set[tuple[tuple[int, ...], ...]] = set()
    for guess in _GUESSES:
        feed = _make(specs, sizes or {}, shapes or {}, limits or {}, seed, guess)
        shape = tuple(a.shape for a in feed.values())
        if shape in tried:
            continue
        tried.add(shape)
        try:
            run(feed)
        except InputError as error:
            first = first or error
        except ModelError as error:  # this guess takes more memory than there is
            first = first or InputError(str(error))
        else:
            return feed
    assert first is not None
    raise first


def _make(
    specs: Sequence[TensorSpec],
    sizes: Mapping[str, int],
    shapes: Mapping[str, Sequence[int]],
    limits: Mapping[str, int],
    seed: int,
    guess: _Guess,
) -> Feed:
    names = [s.name for s in specs]
    unknown = [
        f'input "{n}": the model has no input of that name{nearest(n, names)}'
        for n in shapes
        if n not in names
    ]
    if unknown:
        raise InputError(unknown)
    rng = np.random.default_rng(seed)
    known = {**_sizes_in(specs, shapes), **sizes}
    feed = {}
    for spec in specs:
        shape = tuple(shapes[spec.name]) if spec.name in shapes else _shape(spec, known, guess)
        try:
            feed[spec.name] = _values(spec, shape, limits.get(spec.name), rng)
        except (MemoryError, ValueError) as error:
            raise InputError(
                f'input "{spec.name}": an array of shape {list(shape)} cannot be made: {error}'
            ) from error
    return feed


def _sizes_in(specs: Sequence[TensorSpec], shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """The sizes that whole shapes give to symbols."""
    pairs = ((d, n) for s in specs if s.name in shapes for d, n in zip(s.shape, shapes[s.name], strict=False))
    return {dim: size for dim, size in pairs if isinstance(dim, str)}


# ── shapes ────────────────────────────────────────────────────────────────────────────────────────────


def _shape(spec: TensorSpec, known: dict[str, int], guess: _Guess) -> tuple[int, ...]:
    def size(axis: int, dim: Dim) -> int:
        if isinstance(dim, int):
            return dim
        if dim is None:
            return _guessed(spec, axis, guess)
        # Equal symbols mean equal sizes, wherever they stand: the first guess holds.
        return known.setdefault(dim, _guessed(spec, axis, guess))

    if not spec.ranked:
        return (1, guess.length)
    return tuple(size(axis, dim) for axis, dim in enumerate(spec.shape))


def _guessed(spec: TensorSpec, axis: int, guess: _Guess) -> int:
    dim, rank = spec.shape[axis], len(spec.shape)
    if axis == 0 and rank > 1:
        return 1
    if isinstance(dim, str) and (dim.casefold() in ("n", "b", "bs") or "batch" in dim.casefold()):
        return 1
    if rank == 4:
        return _picture_side(spec, axis, guess)
    if rank == 3 and axis == 1 and all(isinstance(spec.shape[a], int) for a in (0, 2)):
        return 1  # recurrent state: [layers, batch, hidden]
    return guess.length if rank > 1 else 1


def _picture_side(spec: TensorSpec, axis: int, guess: _Guess) -> int:
    channels_last = spec.shape[3] in _CHANNELS and spec.shape[1] not in _CHANNELS
    rows, columns, channels = (1, 2, 3) if channels_last else (2, 3, 1)
    if axis == channels:
        return 3
    height, width = spec.shape[rows], spec.shape[columns]
    if axis == columns and isinstance(height, int):
        # The net was built for this height: a square, or a line of text some times as wide.
        return max(height, guess.width)
    return guess.height if axis == rows else (width if isinstance(width, int) else guess.width)


# ── values ────────────────────────────────────────────────────────────────────────────────────────────


def _values(spec: TensorSpec, shape: tuple[int, ...], limit: int | None, rng: np.random.Generator) -> Array:
    dtype = spec.dtype
    if dtype is None or dtype.numpy is None:
        raise InputError(f'input "{spec.name}": no values can be made for {spec.label}')
    if math.prod(shape) * max(dtype.bits, 8) // 8 > _LARGEST:
        raise MemoryError(f"it would take more than {_LARGEST >> 30} GiB; give this input")
    if dtype.name == "string":
        letters = np.array(list("abcdefghijklmnopqrstuvwxyz"), dtype=object)
        return np.asarray(rng.choice(letters, size=shape), dtype=object)
    if dtype.name == "bool" or "mask" in spec.name.casefold():
        return np.ones(shape, dtype.numpy)
    if dtype.is_integer:
        return _integers(spec, dtype, shape, limit, rng)
    return _floats(dtype.numpy, shape, rng)


def _integers(
    spec: TensorSpec, dtype: DType, shape: tuple[int, ...], limit: int | None, rng: np.random.Generator
) -> Array:
    assert dtype.numpy is not None
    name = spec.name.casefold()
    if limit is None and ("token_type" in name or "segment" in name):
        return np.zeros(shape, dtype.numpy)
    if limit is None and shape == () and ("sr" in name.split("_") or "rate" in name):
        return np.asarray(_SAMPLE_RATE, dtype.numpy)
    if "position" in name and shape:
        line = np.arange(shape[-1]) % (limit or max(shape[-1], 1))
        return np.ascontiguousarray(np.broadcast_to(line, shape).astype(dtype.numpy))
    info = np.iinfo(dtype.numpy)
    if limit is None and dtype.bits == 8:
        return np.asarray(rng.integers(info.min, info.max, size=shape, endpoint=True, dtype=dtype.numpy))
    top = min(limit or 2, int(info.max))
    return np.asarray(rng.integers(0, top, size=shape)).astype(dtype.numpy)


def _floats(dtype: np.dtype[Any], shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    if dtype.kind == "c":
        return np.asarray(_floats(np.dtype(np.float64), shape, rng) + 1j * rng.standard_normal(shape)).astype(
            dtype
        )
    values = np.asarray(rng.standard_normal(shape, np.float32)).astype(dtype)
    # A denormal makes an operator up to a hundred times slower; half precision meets them soon.
    return np.where(np.abs(values) < np.finfo(dtype).smallest_normal, dtype.type(0), values)
