"""Lending outputs: views that hold for a block, and what becomes of them after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

__all__ = ["lent", "poison"]

POISON = 0xFF
"""Every byte of a released buffer in debug mode: not-a-number in floats, -1 or the most in integers."""


@contextmanager
def lent(results: dict[str, Any], give_back: Callable[[], None], debug: bool) -> Iterator[dict[str, Any]]:
    """Lends the results for the block; then they may be written over.

    Args:
        give_back: makes the memory free for the next call.
        debug: instead of that, overwrite the memory at once and never use it again, so that whoever still
            reads it reads nonsense, each time.
    """
    try:
        yield results
    finally:
        if debug:
            poison(results)
        else:
            give_back()


def poison(arrays: Mapping[str, Any]) -> None:
    """Overwrites every array of numbers."""
    for array in arrays.values():
        if isinstance(array, np.ndarray) and array.dtype != object and array.flags.writeable:
            if array.flags.c_contiguous:
                array.reshape(-1).view(np.uint8)[...] = POISON
            else:
                array[...] = np.frombuffer(bytes([POISON]) * array.itemsize, array.dtype)[0]
