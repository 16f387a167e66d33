"""What was measured when a plan was made."""

from __future__ import annotations

import math

import msgspec

from hotlap.errors import PlanError

__all__ = ["Evidence"]


class Evidence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What was measured when the plan was made. It informs people; nothing decides by it.

    Attributes:
        baseline: what the plan was measured against, e.g. "onnxruntime defaults".
        ratio: the baseline's latency over the plan's: above 1, the plan is faster.
        low, high: the ends of the ratio's 95 % interval.
        percentile: of the latencies compared, e.g. "p50".
        agreement: in words, how far the answers agree, e.g. "exact".
        machine, date, hotlap, onnxruntime: where, when (ISO 8601) and with which versions.
    """

    baseline: str
    ratio: float
    low: float
    high: float
    percentile: str = "p50"
    agreement: str = ""
    machine: str = ""
    date: str = ""
    hotlap: str = ""
    onnxruntime: str = ""

    def __post_init__(self) -> None:
        for field in ("ratio", "low", "high"):
            if not math.isfinite(getattr(self, field)):
                raise PlanError(f"evidence.{field}: expected a finite number, got {getattr(self, field)}")
