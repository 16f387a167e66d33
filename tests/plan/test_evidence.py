from __future__ import annotations

import math

import pytest

from hotlap.errors import PlanError
from hotlap.plan import Evidence


def test_evidence_has_finite_numbers() -> None:
    assert Evidence(baseline="onnxruntime defaults", ratio=1.8, low=1.7, high=1.9).percentile == "p50"
    for field in ("ratio", "low", "high"):
        with pytest.raises(PlanError, match=rf"evidence\.{field}: expected a finite number"):
            Evidence(**{"baseline": "b", "ratio": 1.0, "low": 1.0, "high": 1.0} | {field: math.nan})  # type: ignore[arg-type]
