"""Nodes counted by operator, in a few words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

__all__ = ["by_operator"]

_MOST = 5


def by_operator(ops: Iterable[str]) -> str:
    """``3 Resize, NonZero`` of the operators of four nodes; the most frequent first, five at most."""
    counted = Counter(ops).most_common()
    told = ", ".join(f"{count} {op}" if count > 1 else op for op, count in counted[:_MOST])
    return told + (", …" if len(counted) > _MOST else "")
