"""How many rows an input has, and what its shapes are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["rows_of", "shapes_of"]


def rows_of(feed: Mapping[str, Any], answer: Mapping[str, Any]) -> int:
    """How many rows an input has: the size of the first axis that an input shares with an output.

    Settings, masks for all rows and states share none, mostly; and an output's first axis goes before its
    others.
    """
    sizes = [array.shape[0] for array in feed.values() if array.ndim]
    shapes = [
        np.shape(v) if isinstance(v, np.ndarray) else (len(v),) for v in answer.values() if _has_axis(v)
    ]
    firsts, axes = {shape[0] for shape in shapes}, {size for shape in shapes for size in shape}
    return next((size for known in (firsts, axes) for size in sizes if size in known), 1)


def _has_axis(value: Any) -> bool:
    return isinstance(value, list) or (isinstance(value, np.ndarray) and value.ndim > 0)


def shapes_of(feed: Mapping[str, Any]) -> str:
    """The shapes of a feed, for people: ``x 3x16, mask 3x5``."""
    return ", ".join(f"{n} {'x'.join(map(str, np.shape(a))) or 'scalar'}" for n, a in feed.items())
