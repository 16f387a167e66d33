"""Where a value stands in its array, for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import SupportsInt

__all__ = ["index_text"]


def index_text(place: Iterable[SupportsInt]) -> str:
    """``[0, 3]``; "" for a value without axes, which stands nowhere else."""
    numbers = ", ".join(str(int(i)) for i in place)
    return f"[{numbers}]" if numbers else ""
