from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from hotlap.verify.ranking import FIVE, Ranks

rows = arrays.arrays(np.float32, (6, 8), elements=st.floats(-8, 8, width=16))


def counted(before: list[list[float]], after: list[list[float]], tie: float) -> tuple[int, int, int]:
    """Agree, differ and five, said as plainly as can be."""
    agree = differ = five = 0
    for a, b in zip(before, after, strict=True):
        first, chosen = a.index(max(a)), b.index(max(b))
        agree += first == chosen
        differ += first != chosen and a[first] - a[chosen] > tie
        five += sum(1 for value in b if value > b[first]) < FIVE
    return agree, differ, five


@given(rows, rows, st.sampled_from([0.0, 0.5]))
def test_counts_are_those_of_a_plain_loop(before: np.ndarray, after: np.ndarray, tie: float) -> None:
    ranks = Ranks(-1)
    ranks.add(before[:2], after[:2], tie)
    ranks.add(before[2:], after[2:], tie)
    assert (ranks.agree, ranks.differ, ranks.five) == counted(before.tolist(), after.tolist(), tie)
    assert (ranks.rows, ranks.long) == (6, 6)
    assert ranks.top1 == ranks.agree / 6 and ranks.top5 == ranks.five / 6


@given(rows, rows)
def test_any_axis_can_rank(before: np.ndarray, after: np.ndarray) -> None:
    last, first = Ranks(-1), Ranks(0)
    last.add(before, after, 0.0)
    first.add(before.T, after.T, 0.0)
    assert (last.agree, last.differ, last.five) == (first.agree, first.differ, first.five)


def test_short_rows_have_no_five_largest() -> None:
    ranks = Ranks(-1)
    ranks.add(np.eye(3), np.eye(3)[::-1], 0.0)
    assert ranks.top5 is None and ranks.top1 == 1 / 3 and Ranks(-1).top1 is None


def test_nan_counts_as_the_largest_on_both_sides() -> None:
    ranks = Ranks(-1)
    row = np.array([[0.0, np.nan, 2.0]])
    ranks.add(row, row, 0.0)
    assert ranks.agree == 1
