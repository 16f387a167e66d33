from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.serve.pays import GAIN, Curve, Pays


def curve(each: dict[int, float], nbytes: int = 100) -> Curve:
    """From seconds for each row of a call."""
    return Curve(nbytes, {n: n * s for n, s in each.items()})


def test_nothing_measured_nothing_shared() -> None:
    assert (Pays().rows(8, 800), Pays().most) == (1, 1)


def test_rows_share_a_call_where_each_then_takes_less() -> None:
    pays = Pays(curve({1: 10, 2: 8, 4: 6, 8: 5}))
    assert [pays.rows(n, n * 100) for n in (1, 2, 3, 4, 8, 20)] == [1, 2, 3, 4, 8, 8]
    assert pays.most == 8


def test_where_it_does_not_pay_rows_go_one_by_one() -> None:
    pays = Pays(curve({1: 10, 2: 15, 4: 11, 8: 9.5}))
    assert [pays.rows(n, n * 100) for n in range(1, 10)] == [1] * 9
    assert pays.most == 1


def test_a_bad_number_of_rows_is_passed_over() -> None:
    pays = Pays(curve({1: 10, 2: 12, 4: 5, 8: 9}))
    assert [pays.rows(n, n * 100) for n in (2, 4, 8)] == [1, 4, 4]


def test_of_numbers_that_are_as_good_the_smaller_is_taken() -> None:
    assert Pays(curve({1: 10, 2: 5, 4: 4.95, 8: 4.93})).rows(8, 800) == 2


def test_rows_of_another_size_are_judged_by_the_nearest_that_was_measured() -> None:
    pays = Pays(curve({1: 10, 2: 6}, nbytes=100), curve({1: 10, 2: 11}, nbytes=10_000))
    assert pays.rows(2, 2 * 90) == 2
    assert pays.rows(2, 2 * 9_000) == 1


def test_a_call_never_has_more_bytes_than_a_measured_one() -> None:
    pays = Pays(curve({1: 10, 2: 6, 4: 5, 8: 4}, nbytes=100))
    assert pays.rows(8, 8 * 200) == 4
    assert pays.rows(8, 8 * 10_000) == 1


def test_between_measurements_lies_a_straight_line() -> None:
    assert Curve(1, {1: 1.0, 2: 2.0, 4: 8.0}).at(3) == pytest.approx(5.0)
    assert Curve(1, {1: 1.0, 2: 2.0}).at(9) == 2.0


@given(
    st.lists(st.floats(1e-6, 10), min_size=1, max_size=6),
    st.integers(1, 1000),
    st.integers(1, 200),
    st.integers(1, 5000),
)
def test_it_never_batches_where_it_does_not_pay(
    each: list[float], nbytes: int, rows: int, row_bytes: int
) -> None:
    measured = curve({2**n: s for n, s in enumerate(each)}, nbytes)
    taken = Pays(measured).rows(rows, rows * row_bytes)
    assert 1 <= taken <= min(rows, measured.most)
    assert taken == 1 or measured.at(taken) / taken <= GAIN * measured.seconds[1] * 1.021
    assert taken == 1 or taken * row_bytes <= measured.most * nbytes + row_bytes
