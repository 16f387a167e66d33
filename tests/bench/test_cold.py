from __future__ import annotations

import pytest

from hotlap.bench.cold import calls_until_steady


def calls(*times: int, shape: str = "x 1") -> list[tuple[str, int]]:
    return [(shape, t) for t in times]


@pytest.mark.parametrize(
    ("times", "steady"),
    [
        ((100,) * 10, 0),
        ((900, 400, 150, 100, 101, 99, 100, 102, 100, 98), 3),
        ((900, 100, 900, 100, 100, 100, 100, 100, 100, 100), 3),  # one fast call is no steadiness
        ((120, 124, 110, 100, 100, 100, 100, 100), 0),
    ],
)
def test_steady_is_three_calls_in_a_row_that_are_as_fast_as_later_ones(
    times: tuple[int, ...], steady: int
) -> None:
    assert calls_until_steady(calls(*times)) == steady


def test_few_calls_or_calls_that_never_settle_are_unknown() -> None:
    assert calls_until_steady(calls(*[100] * 7)) is None
    assert calls_until_steady([]) is None
    assert calls_until_steady(calls(*[100, 100, 900] * 5)) is None


def test_each_shape_is_compared_with_its_own_kind() -> None:
    mixed = [one for _ in range(8) for one in (("small", 10), ("large", 1000))]
    assert calls_until_steady(mixed) == 0
    assert calls_until_steady([("small", 90), ("large", 9000), *mixed]) == 2
