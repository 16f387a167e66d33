from __future__ import annotations

import itertools
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.model.formula import Formula, Term, degree, fitted, short

POWERS = st.fixed_dictionaries({"batch": st.integers(0, 2), "length": st.integers(0, 2)})


@given(st.lists(st.tuples(st.integers(-(10**9), 10**12), POWERS), max_size=9), st.integers(1, 64))
def test_what_was_evaluated_on_a_grid_is_found_again(
    drawn: list[tuple[int, dict[str, int]]], step: int
) -> None:
    def value(batch: int, length: int) -> int:
        return sum(f * batch ** p["batch"] * length ** p["length"] for f, p in drawn)

    grid = {"batch": [1, 2, 3], "length": [step, 2 * step, 3 * step]}
    formula = fitted(grid, {at: value(*at) for at in itertools.product(*grid.values())})
    for batch, length in ((1, 1), (5, 7), (1000, 512)):
        # A factor of 0.1 has no exact place in a float.
        assert math.isclose(formula.at({"batch": batch, "length": length}), value(batch, length), abs_tol=1)
    assert msgspec.json.decode(msgspec.json.encode(formula), type=Formula) == formula


def test_without_symbols_it_is_a_number() -> None:
    assert fitted({}, {(): 42}) == Formula((Term(42),))
    assert fitted({}, {(): 0}) == Formula() and Formula().at({}) == 0


def test_a_factor_may_be_a_fraction() -> None:
    formula = fitted({"h": [2, 4]}, {(2,): 3, (4,): 6})
    assert formula == Formula((Term(1.5, {"h": 1}),))
    assert formula.at({"h": 5}) == 8


@pytest.mark.parametrize(
    ("counts", "power"),
    [
        ((5, 5, 5, 5), 0),
        ((3, 5, 7, 11), 1),
        ((1, 4, 9, 25), 2),
        ((1, 8, 27, 125), None),
        ((0, 0, 0, 1), None),
    ],
)
def test_the_power_of_growth(counts: tuple[int, ...], power: int | None) -> None:
    assert degree((1, 2, 3, 5), counts) == power


@pytest.mark.parametrize(
    ("terms", "text"),
    [
        ((), "0"),
        ((Term(640, {"batch": 1}),), "640*batch"),
        ((Term(1, {"batch": 1}),), "batch"),
        ((Term(4_089_184_256),), "4.09G"),
        (
            (Term(768, {"batch": 1, "sequence": 2}), Term(10_616_832, {"batch": 1, "sequence": 1})),
            "batch*sequence*(768*sequence + 10.6M)",
        ),
        ((Term(592, {"batch": 1}), Term(2704)), "592*batch + 2.7k"),
        ((Term(3, {"h": 2}), Term(-2, {"h": 1})), "h*(3*h - 2)"),
        ((Term(7.5, {"w": 2}), Term(2)), "7.5*w² + 2"),
    ],
)
def test_it_reads_well(terms: tuple[Term, ...], text: str) -> None:
    assert str(Formula(terms)) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1k"),
        (999_600, "1M"),
        (12_345_678, "12.3M"),
        (2.5, "2.5"),
        (-1e13, "-10T"),
    ],
)
def test_numbers_have_three_digits(number: float, text: str) -> None:
    assert short(number) == text


def test_a_missing_size_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="batch"):
        Formula((Term(2, {"batch": 1}),)).at({})
