"""When a target is warm: how many calls it took until they were as fast as they stay."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["calls_until_steady"]

STEADY, IN_A_ROW = 1.25, 3
"""Steady: so many calls in a row within this factor of what the later ones of the same shape take."""
FEWEST = 8
"""Of fewer calls nobody can say when they became steady."""


def calls_until_steady(latencies: Sequence[tuple[str, int]]) -> int | None:
    """How many calls came before the target was steady; 0: it was from the first.

    Args:
        latencies: the first calls of all in order: (shape, nanoseconds).

    Returns:
        None where there are too few calls to say, or they never became steady. Later calls are those of the
        second half; a call whose shape none of them has counts for neither side.
    """
    later: dict[str, list[int]] = {}
    for shape, took in latencies[len(latencies) // 2 :]:
        later.setdefault(shape, []).append(took)
    usual = {shape: float(np.median(found)) for shape, found in later.items()}
    known = [(n, took / usual[shape]) for n, (shape, took) in enumerate(latencies) if shape in usual]
    if len(known) < FEWEST:
        return None
    for start in range(len(known) - IN_A_ROW + 1):
        if all(ratio <= STEADY for _, ratio in known[start : start + IN_A_ROW]):
            return known[start][0]
    return None
