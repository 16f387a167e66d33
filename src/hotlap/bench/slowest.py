"""The slowest inputs: which ones, how slow, and what about them could be the reason."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from hotlap.bench.data import Feed

__all__ = ["TEN", "InputTime", "SlowInput", "SlowTensor", "input_times", "slowest_inputs"]

TEN = 10


class InputTime(msgspec.Struct, frozen=True, kw_only=True):
    """What one input took in one process.

    Attributes:
        index: its place among the feeds as they were given, from 0.
        calls: how often it was asked.
        median_s, worst_s: seconds.
    """

    index: int
    calls: int
    median_s: float
    worst_s: float


class SlowTensor(msgspec.Struct, frozen=True, kw_only=True):
    """One array of a slow input.

    Attributes:
        shape, dtype: of the array.
        digest: SHA-256 of its bytes in C order, the first 16 hex digits.
        low, high: its least and largest finite number; None: it has none.
        denormals: numbers closer to zero than the type's smallest normal one, and not zero: a CPU may take a
            hundred times as long for them.
        not_finite: infinities and not-a-numbers.
    """

    shape: tuple[int, ...]
    dtype: str
    digest: str
    low: float | None = None
    high: float | None = None
    denormals: int = 0
    not_finite: int = 0


class SlowInput(msgspec.Struct, frozen=True, kw_only=True):
    """One of the slowest inputs of a measurement.

    Attributes:
        index: its place among the feeds as they were given, from 0.
        calls: how often it was asked, all processes together.
        median_s: median across processes of its median there; seconds.
        worst_s: its slowest call of all.
        tensors: by input name.
    """

    index: int
    calls: int
    median_s: float
    worst_s: float
    tensors: dict[str, SlowTensor] = {}


def input_times(latencies_ns: npt.NDArray[np.int64], feeds: npt.NDArray[np.int64]) -> tuple[InputTime, ...]:
    """The ten inputs of the largest median latency, slowest first.

    Args:
        latencies_ns: int64[calls].
        feeds: int64[calls], which input each call had.
    """
    order = np.argsort(feeds, kind="stable")
    index, starts = np.unique(feeds[order], return_index=True)
    groups = np.split(latencies_ns[order], starts[1:])
    medians = np.array([np.median(group) for group in groups])
    return tuple(
        InputTime(
            index=int(index[n]),
            calls=len(groups[n]),
            median_s=float(medians[n]) / 1e9,
            worst_s=float(groups[n].max()) / 1e9,
        )
        for n in np.argsort(-medians, kind="stable")[:TEN]
    )


def slowest_inputs(processes: Sequence[Sequence[InputTime]], feeds: Sequence[Feed]) -> tuple[SlowInput, ...]:
    """The ten slowest of all processes, described. One input alone is the slowest of nothing: no row."""
    if len(feeds) < 2:
        return ()
    found: dict[int, list[InputTime]] = {}
    for one in (t for times in processes for t in times):
        found.setdefault(one.index, []).append(one)
    # Among the ten of one process by chance is one thing, among the ten of most is another.
    often = [i for i, times in found.items() if 2 * len(times) >= len(processes)]
    medians = {i: float(np.median([t.median_s for t in found[i]])) for i in often or found}
    return tuple(
        SlowInput(
            index=i,
            calls=sum(t.calls for t in found[i]),
            median_s=medians[i],
            worst_s=max(t.worst_s for t in found[i]),
            tensors=_described(feeds[i]),
        )
        for i in sorted(medians, key=lambda i: -medians[i])[:TEN]
    )


def _described(feed: Mapping[str, npt.NDArray[Any]]) -> dict[str, SlowTensor]:
    return {name: describe(array) for name, array in feed.items()}


def describe(array: npt.NDArray[Any]) -> SlowTensor:
    """What about an array can make a call slow."""
    array = np.ascontiguousarray(array).reshape(np.shape(array))
    digest = hashlib.sha256(array.tobytes()).hexdigest()[:16]
    low = high = None
    denormals = not_finite = 0
    if array.dtype.kind in "biuf" and array.size:
        finite = array[np.isfinite(array)]
        not_finite = int(array.size - finite.size)
        if finite.size:
            low, high = float(finite.min()), float(finite.max())
        if array.dtype.kind == "f":
            size = np.abs(finite)
            denormals = int(((size > 0) & (size < np.finfo(array.dtype).smallest_normal)).sum())
    return SlowTensor(
        shape=array.shape,
        dtype=str(array.dtype),
        digest=digest,
        low=low,
        high=high,
        denormals=denormals,
        not_finite=not_finite,
    )
