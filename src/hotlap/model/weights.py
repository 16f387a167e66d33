"""The numbers that a model holds, told without holding them: `weight_stats`, read in pieces."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from hotlap.errors import ModelError
from hotlap.model.numbers import Numbers
from hotlap.model.pieces import pieces
from hotlap.model.reference import is_external
from hotlap.model.sizes import dtype_of, stored_bytes
from hotlap.model.stored import Stored, stored
from hotlap.model.walk import Walk

__all__ = ["WeightStats", "weight_stats"]


class WeightStats(msgspec.Struct, frozen=True, kw_only=True):
    """One stored tensor in numbers.

    Attributes:
        name: unique in the model: the initializer's name, or ``<node label>.<attribute>`` of a constant;
            where that is not unique, with the scope before it or a number behind it.
        value: the name of the value that it is in its graph; "" for an attribute that is no value of its own.
        scope: the path of its graph (`hotlap.model.walk.Scope.path`).
        dtype: as `hotlap.tensors.DType.name`; "unknown".
        shape: sizes.
        nbytes: what it takes in the file.
        external: it lies in a file beside the model.
        nan, inf, denormal: how many elements are such; 0 for what is no float of 16 bits or more.
        low, high: of the finite elements, exact; None where there is none, or it is no number.
        smallest: the smallest magnitude above 0 of the finite elements; None where there is none, and for
            integers.
        digest: sha256 of dtype, shape and bytes: equal tensors have equal digests. "" where unreadable.
    """

    name: str
    value: str
    scope: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    external: bool = False
    nan: int = 0
    inf: int = 0
    denormal: int = 0
    low: int | float | None = None
    high: int | float | None = None
    smallest: float | None = None
    digest: str = ""


def weight_stats(model: Any, folder: Path, walk: Walk | None = None) -> Iterator[WeightStats]:
    """Every tensor that the file holds or points to (`hotlap.model.stored.stored`), one after the other.

    A small piece is in memory at a time, and of a tensor inside of the model file once its own size. What
    cannot be read has an empty digest.

    Args:
        model: the ``ModelProto``, external weights not loaded.
        folder: the model's folder, where files of external weights lie.
        walk: over the model, where there is one already.
    """
    return (_stats(one, folder) for one in stored(walk or Walk(model)))


def _stats(one: Stored, folder: Path) -> WeightStats:
    dtype = dtype_of(one.tensor)
    name, shape = "unknown" if dtype is None else dtype.name, tuple(one.tensor.dims)
    numbers, read, digest = Numbers(name), 0, hashlib.sha256(f"{one.tensor.data_type}{shape}".encode())
    try:
        for piece in pieces(one.tensor, folder):
            numbers.add(piece)
            digest.update(piece)
            read += len(piece)
        found = f"sha256:{digest.hexdigest()}"
    except ModelError:
        numbers, read, found = Numbers(name), stored_bytes(one.tensor) or 0, ""
    return WeightStats(
        name=one.name,
        value=one.value,
        scope=one.scope.path,
        dtype=name,
        shape=shape,
        nbytes=read,
        external=is_external(one.tensor),
        nan=numbers.nan,
        inf=numbers.inf,
        denormal=numbers.denormal,
        low=numbers.low,
        high=numbers.high,
        smallest=numbers.smallest,
        digest=found,
    )
