from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from hotlap.bench import Comparison, Measurement, compare_measurements
from hotlap.bench.result import pack
from hotlap.errors import UsageError, VerificationFailed
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


def test_three_processes_a_side_show_neither_a_difference_nor_sameness() -> None:
    for n, shown in ((3, False), (4, True)):
        one, slow = measurement([0.01] * n), measurement([0.012] * n)
        same = compare_measurements(one, one)
        assert (same.same_within is not None) is shown is same.enough
        found = compare_measurements(one, slow)
        assert (found.verdict == "slower") is shown is found.enough is found.fails()


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


SPREAD = [0.01 * (1 + 0.05 * (-1) ** n + n / 1000) for n in range(12)]


def test_sameness_is_a_verdict_of_its_own() -> None:
    same = compare_measurements(measurement(EVEN), measurement(EVEN))
    assert (same.verdict, same.same_within, same.enough) == ("no difference", 0.02, True)
    assert same.bound < 0.02
    wide = compare_measurements(measurement(SPREAD), measurement(SPREAD))
    assert (wide.verdict, wide.same_within, wide.enough) == ("no difference", None, False)
    assert wide.bound > 0.02
    assert compare_measurements(measurement(SPREAD), measurement(SPREAD), same=0.2).same_within == 0.2


def test_a_small_difference_can_be_shown_and_lie_within_the_margin_all_the_same() -> None:
    found = compare_measurements(measurement(EVEN), measurement([p / 1.015 for p in EVEN]))
    assert (found.verdict, found.same_within, found.enough) == ("faster", 0.02, True)


def test_what_the_samples_do_not_support_gets_no_verdict() -> None:
    """100 calls a side are none of p99, however far the sides lie apart."""
    few = [
        measurement([p] * 12, processes=tuple(process(p, calls=9) for _ in range(12))) for p in (0.01, 0.02)
    ]
    found = compare_measurements(*few, percentile=99)
    assert (found.verdict, found.enough, found.same_within) == ("no difference", False, None)
    assert found.doubts[0] == "p99 needs 1,000 samples a side, there are 108"
    assert not found.tail.enough and found.tail.verdict == "slower"  # p95 needs 200
    assert compare_measurements(*few).verdict == "slower"


def test_many_looks_widen_the_intervals() -> None:
    rng = np.random.default_rng(5)
    a, b = (measurement(0.01 * np.exp(rng.normal(0, 0.02, 12))) for _ in range(2))
    one, ten = (compare_measurements(a, b, looks=n) for n in (1, 10))
    assert ten.low < one.low < one.high < ten.high
    assert (one.looks, ten.looks) == (1, 10) and one.ratio == ten.ratio


def test_of_many_comparisons_of_equal_sides_hardly_one_run_claims_anything() -> None:
    rng = np.random.default_rng(6)
    wrong = 0
    for _ in range(12):
        sides = [measurement(0.01 * np.exp(rng.normal(0, 0.03, 12))) for _ in range(6)]
        wrong += any(compare_measurements(sides[0], s, looks=5).verdict != "no difference" for s in sides[1:])
    assert wrong <= 1


@pytest.mark.parametrize("options", [{"percentile": 0}, {"percentile": 100}, {"looks": 0}, {"same": 0}])
def test_options_that_make_no_sense_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="a comparison needs"):
        compare_measurements(measurement(EVEN), measurement(EVEN), **options)  # type: ignore[arg-type]


def slower_by(share: float) -> Comparison:
    return compare_measurements(measurement(EVEN), measurement([p * (1 + share) for p in EVEN]))


def test_a_check_says_no_only_to_what_is_slower_beyond_the_noise_and_beyond_what_is_allowed() -> None:
    slow = slower_by(0.06)
    assert slow.slowdown == pytest.approx(0.06) and slow.fails() and not slow.fails(0.1)
    assert slow.check(0.1) is slow
    with pytest.raises(VerificationFailed, match=r"slower by 6\.0 %, 5 % is allowed; p50 speed-up 0\.943x"):
        slow.check(0.05)
    with pytest.raises(VerificationFailed, match=r"slower by 6\.0 %; p50"):
        slow.check()
    assert not slower_by(-0.5).fails() and not slower_by(0.0).fails()
    with pytest.raises(UsageError, match="share of 0 or more"):
        slow.check(-1)


def test_a_run_that_shows_nothing_passes_unless_it_is_strict(caplog: pytest.LogCaptureFixture) -> None:
    wide = compare_measurements(measurement(SPREAD), measurement(SPREAD))
    assert wide.check() is wide and "not enough data" in caplog.text
    with pytest.raises(VerificationFailed, match="not enough data"):
        wide.check(strict=True)
    loud = compare_measurements(
        disturbed(12),
        msgspec.structs.replace(
            disturbed(12), processes=tuple(process(0.02, order=n, foreign=0.4) for n in range(12))
        ),
    )
    assert loud.verdict == "slower" and loud.check() is loud
    with pytest.raises(VerificationFailed, match="void"):
        loud.check(strict=True)


def test_format_1_is_still_read() -> None:
    found = Comparison.load(Path(__file__).parent / "formats" / "v1-comparison.json")
    assert found.format == 1 and found.verdict == "slower"
    assert found.ratio == pytest.approx(0.6254, abs=1e-4)
    assert (found.same_within, found.enough, found.looks, found.tail.enough) == (None, True, 1, True)
    again = compare_measurements(found.a, found.b)
    assert (again.ratio, again.low, again.high) == pytest.approx((found.ratio, found.low, found.high))
