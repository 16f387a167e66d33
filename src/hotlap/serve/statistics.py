"""What the protocol's statistics extension counts of a model: `Statistics`."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Statistics"]


@dataclass(slots=True)
class Statistics:
    """Counters of one model since the start, as the statistics extension names them; times in ns."""

    inference_count: int = 0
    execution_count: int = 0
