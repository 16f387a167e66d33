"""The numbers that a model holds, told without holding them: `WeightStats`, read in pieces."""

from __future__ import annotations

import msgspec

__all__ = ["WeightStats"]


class WeightStats(msgspec.Struct, frozen=True, kw_only=True):
    """One stored tensor in numbers.

    Attributes:
        name: unique in the model: the initializer's name, or ``<node label>.<attribute>`` of a constant.
        value: the name of the value that it is in its graph; "" for an attribute that is no value of its own.
        scope: the path of its graph (`hotlap.model.walk.Scope.path`).
        dtype: as `hotlap.tensors.DType.name`; "unknown".
        shape: sizes.
        nbytes: what it takes in the file.
        external: it lies in a file beside the model.
        nan, inf, denormal: how many elements are such; 0 for what is no float.
        low, high: of the finite elements; None where there is none, or it is no number.
        smallest: the smallest magnitude above 0 of the finite elements; None where there is none.
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
    low: float | None = None
    high: float | None = None
    smallest: float | None = None
    digest: str = ""
