"""What kinds of number a tensor holds, added up over its pieces: NaN, infinity, denormals, the extremes.

Told from the bits, by integer arithmetic: a library that set the processor to flush denormals to zero would
else hide them from us as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Numbers"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class _Float:
    """A float format: what its bits are as an integer, how many of them are the exponent's and fraction's."""

    bits: str
    exponent: int
    fraction: int

    @property
    def infinity(self) -> int:
        """The bits of infinity: all of the exponent, nothing else."""
        return ((1 << self.exponent) - 1) << self.fraction

    @property
    def normal(self) -> int:
        """The bits of the smallest normal number."""
        return 1 << self.fraction


_FLOATS = {
    "float16": _Float("<u2", 5, 10),
    "bfloat16": _Float("<u2", 8, 7),
    "float32": _Float("<u4", 8, 23),
    "float64": _Float("<u8", 11, 52),
}
_INTEGERS = {
    f"{sign}int{bits}": f"<{sign[:1] or 'i'}{bits // 8}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}


@dataclass(slots=True)
class Numbers:
    """The sum so far; `add` takes the next piece. Fields as in `hotlap.model.weights.WeightStats`."""

    dtype: str
    nan: int = 0
    inf: int = 0
    denormal: int = 0
    low: int | float | None = None
    high: int | float | None = None
    smallest: float | None = None

    def add(self, piece: bytes | memoryview) -> None:
        """Counts what is in a piece (little-endian elements); what is not whole at its end is left out."""
        if self.dtype in _FLOATS:
            self._add_floats(piece, _FLOATS[self.dtype])
        elif self.dtype in _INTEGERS:
            values = _view(piece, _INTEGERS[self.dtype])
            if values.size:
                self._extremes(int(values.min()), int(values.max()))

    def _add_floats(self, piece: bytes | memoryview, form: _Float) -> None:
        bits = _view(piece, form.bits)
        if not bits.size:
            return
        magnitude = bits & bits.dtype.type(~(1 << (form.exponent + form.fraction)) & _all_ones(bits.dtype))
        most = int(magnitude.max())
        finite = None
        if most >= form.infinity:
            self.inf += int(np.count_nonzero(magnitude == form.infinity))
            self.nan += int(np.count_nonzero(magnitude > form.infinity))
            finite = magnitude < form.infinity
        less_one = magnitude - bits.dtype.type(1)  # 0 becomes the largest of all
        self.denormal += int(np.count_nonzero(less_one < form.normal - 1))
        least = int(less_one.min()) + 1
        if least < form.infinity:
            here = float(_floats(np.array([least], form.bits), self.dtype)[0])
            self.smallest = here if self.smallest is None else min(here, self.smallest)
        values = _floats(bits if finite is None else bits[finite], self.dtype)
        if values.size:
            self._extremes(float(values.min()), float(values.max()))

    def _extremes(self, low: float, high: float) -> None:
        # Integers stay what they are: as floats, 2^53 and 2^53 + 1 are one number.
        self.low = low if self.low is None else min(self.low, low)
        self.high = high if self.high is None else max(self.high, high)


def _view(piece: bytes | memoryview, kind: str) -> Array:
    dtype = np.dtype(kind)
    return np.frombuffer(piece, dtype, len(piece) // dtype.itemsize)


def _all_ones(dtype: np.dtype[Any]) -> int:
    return int(np.iinfo(dtype).max)


def _floats(bits: Array, dtype: str) -> Array:
    """The bits as numbers; what numpy has no type for, or is slow at, in float32, which holds them all."""
    if dtype == "bfloat16":
        return (bits.astype("<u4") << np.uint32(16)).view("<f4")
    if dtype == "float16":
        return bits.view("<f2").astype("<f4")
    return bits.view("<f8" if dtype == "float64" else "<f4")
