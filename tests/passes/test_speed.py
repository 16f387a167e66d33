from __future__ import annotations

import pytest

from hotlap.bench import Comparison, compare_measurements
from hotlap.passes.speed import cpu_time, too_slow
from tests.bench.results import measurement, process


def compared(times: float, cpu: float = 1.0, *, foreign: float = 0.0, known: bool = True) -> Comparison:
    """A source of 10 ms, 10 ms of CPU a call; the result takes so many times as much of each."""
    sides = (
        measurement(
            [0.01] * 8,
            processes=tuple(
                process(
                    0.01 * late * (1 + n / 1000),
                    order=n,
                    foreign=foreign,
                    cpu_s=0.2 * burnt * (1 + n / 1000) * known,
                )
                for n in range(8)
            ),
        )
        for late, burnt in ((1.0, 1.0), (times, cpu))
    )
    return compare_measurements(*sides)


def test_cpu_time_is_compared_by_processes() -> None:
    found = cpu_time(compared(1.0, 1.2))
    assert found is not None and found.verdict == "slower"
    assert found.ratio == pytest.approx(1 / 1.2) and found.low < found.ratio < found.high
    assert cpu_time(compared(1.0, 0.5)).verdict == "faster"  # type: ignore[union-attr]
    assert cpu_time(compared(1.0)).verdict == "no difference"  # type: ignore[union-attr]
    assert cpu_time(compared(1.0, known=False)) is None


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (compared(1.0), ""),
        (compared(2.0), "it is slower: 0.50 times as fast"),
        (compared(1.0, 2.0), ""),  # the latencies decide where they can
        (compared(2.0, foreign=0.4), ""),
        (compared(0.5, 1.2, foreign=0.4), "it is slower: a call takes 1.20 times the CPU time"),
        (compared(0.5, foreign=0.4, known=False), "or say --no-measure"),
    ],
)
def test_cpu_time_decides_where_the_latencies_are_void(one: Comparison, said: str) -> None:
    why = too_slow(one, cpu_time(one))
    assert said in why and bool(why) is bool(said)
