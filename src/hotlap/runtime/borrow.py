"""Lending outputs: views that hold for a block, and what becomes of them after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

__all__ = ["Loan", "poison"]

POISON = 0xFF
"""Every byte of a released buffer in debug mode: not-a-number in floats, -1 or the most in integers."""


class Loan:
    """Lends results for a block; then their memory may be written over.

    Args:
        give_back: makes the memory free for the next call.
        debug: instead of that, overwrite the memory at once and never use it again, so that whoever still
            reads it reads nonsense, each time.
    """

    # A class of a few lines: a generator as context manager costs as much as a small model.
    __slots__ = ("_debug", "_give_back", "_results")

    def __init__(self, results: dict[str, Any], give_back: Callable[[], None], debug: bool) -> None:
        self._results, self._give_back, self._debug = results, give_back, debug

    def __enter__(self) -> dict[str, Any]:
        return self._results

    def __exit__(self, *_: object) -> None:
        give_back, self._give_back = self._give_back, _nothing
        if self._debug:
            poison(self._results)
        else:
            give_back()


def _nothing() -> None: ...


def poison(arrays: Mapping[str, Any]) -> None:
    """Overwrites every array of numbers."""
    for array in arrays.values():
        if isinstance(array, np.ndarray) and array.dtype != object and array.flags.writeable:
            if array.flags.c_contiguous:
                array.reshape(-1).view(np.uint8)[...] = POISON
            else:
                array[...] = np.frombuffer(bytes([POISON]) * array.itemsize, array.dtype)[0]
