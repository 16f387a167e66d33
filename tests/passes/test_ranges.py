from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hotlap.passes.ranges import Range, measured_ranges
from tests import tiny
from tests.passes.asking import draft_of

pytestmark = pytest.mark.usefixtures("here")


def test_inner_values_over_all_inputs(tmp_path: Path) -> None:
    draft = draft_of(tiny.mlp(), tmp_path)
    feeds = [{"x": np.full((1, 16), size, np.float32)} for size in (0, 1, 100)]
    found = measured_ranges(draft, ["x", "h", "r"], feeds)
    assert found["x"] == Range(high=100.0, low=1.0)
    assert 100 < found["h"].high < 10_000 and found["r"].high <= found["h"].high


def test_infinity_and_no_number_reach_everything() -> None:
    for odd in (np.inf, np.nan):
        assert Range().with_(np.array([1, odd])).high == float("inf")
    assert Range().with_(np.zeros(3)) == Range()
