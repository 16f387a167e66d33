"""Nodes counted by operator, in a few words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

__all__ = ["by_operator"]

_MOST = 5


def by_operator(labels: Iterable[str]) -> str:
    """``3 Resize, NonZero`` of labels such as ``Resize "up_1"``; the most frequent first, five at most."""
    counted = Counter(label.rpartition(" / ")[2].partition(' "')[0] for label in labels).most_common()
    told = ", ".join(f"{count} {op}" if count > 1 else op for op, count in counted[:_MOST])
    return told + (", …" if len(counted) > _MOST else "")
