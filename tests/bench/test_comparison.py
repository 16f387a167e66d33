from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hotlap.bench import Comparison, Measurement, compare_measurements
from hotlap.bench.result import pack
from hotlap.errors import UsageError
from tests.bench.results import measurement, process

EVEN = [0.01 * (1 + n / 1000) for n in range(12)]


def test_a_faster_candidate() -> None:
    found = compare_measurements(measurement(EVEN), measurement([p / 2 for p in EVEN]))
    assert found.verdict == "faster" and found.ratio == pytest.approx(2.0)
    assert 1.98 < found.low < 2.0 < found.high < 2.02
    assert found.doubts == () and not found.void and found.foreign == 0.0
    assert found.tail.percentile == 95 and found.tail.verdict == "faster"


def test_a_slower_one_and_itself() -> None:
    one = measurement(EVEN)
    assert compare_measurements(one, measurement([p * 1.1 for p in EVEN])).verdict == "slower"
    same = compare_measurements(one, one)
    assert same.verdict == "no difference" and same.ratio == pytest.approx(1.0)


def test_the_tail_has_an_interval_of_its_own() -> None:
    """Equal medians; one call in ten is ten times as slow on the candidate's side."""
    latencies = np.full(100, 10_000_000, dtype=np.int64)
    latencies[::10] *= 10
    slow_tail = measurement(
        EVEN, processes=tuple(process(samples=pack(latencies), calls=100) for _ in range(12))
    )
    even = measurement([0.01] * 12)
    found = compare_measurements(even, slow_tail)
    assert found.verdict == "no difference" and found.tail.verdict == "slower"
    headline = compare_measurements(even, slow_tail, percentile=95)
    assert headline.verdict == "slower" and headline.percentile == 95
    assert headline.ratio == pytest.approx(0.1)


def disturbed(count: int) -> Measurement:
    return measurement(
        EVEN, processes=tuple(process(p, order=n, foreign=0.4 * (n < count)) for n, p in enumerate(EVEN))
    )


def test_a_run_with_most_processes_disturbed_is_void_and_says_so_first() -> None:
    found = compare_measurements(disturbed(8), disturbed(7))
    assert found.void and found.disturbed == pytest.approx(15 / 24)
    assert found.doubts[0] == "void: other work disturbed 62 % of the processes; measure again in quiet"


def test_a_run_with_some_processes_disturbed_is_doubted_only() -> None:
    found = compare_measurements(disturbed(4), disturbed(0))
    assert not found.void and any("other work took" in d for d in found.doubts)
    assert found.foreign == pytest.approx(0.4 * 4 / 24)


def test_saved_and_loaded_it_is_the_same(tmp_path: Path) -> None:
    found = compare_measurements(measurement(EVEN), measurement(EVEN))
    found.save(tmp_path / "c.json")
    assert Comparison.load(tmp_path / "c.json") == found


def test_a_measurement_is_no_comparison(tmp_path: Path) -> None:
    measurement(EVEN).save(tmp_path / "m.json")
    with pytest.raises(UsageError, match="not a saved comparison"):
        Comparison.load(tmp_path / "m.json")
