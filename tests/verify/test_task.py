from __future__ import annotations

from typing import Any

import pytest

from hotlap.verify.metric import Change
from hotlap.verify.task import decided


def change(drop: float, low: float, high: float, changed: int | None = 5) -> Change:
    return Change(before=0.9, after=0.9 - drop, low=low, high=high, count=100, per="row", changed=changed)


def never() -> bool:
    raise AssertionError("nobody should ask")


@pytest.mark.parametrize(
    ("found", "passed", "undecided"),
    [
        (change(0.001, 0.0, 0.004), True, False),
        (change(0.003, 0.0015, 0.006), False, False),  # the bad end counts, not the middle
        (change(0.02, 0.01, 0.03), False, False),
        (change(0.002, -0.01, 0.014), False, True),  # wider than what is allowed
        (change(-0.02, -0.03, -0.01), False, True),  # better, and yet too wide to say by how much
    ],
)
def test_the_bad_end_decides_and_a_wide_interval_does_not(
    found: Change, passed: bool, undecided: bool
) -> None:
    decision = decided(found, 0.005, never)
    assert (decision.passed, decision.undecided) == (passed, undecided)
    assert decision.reason.startswith("it cannot tell") == undecided


def test_no_change_of_the_metric_and_exact_answers_pass_however_few() -> None:
    few = change(0.0, 0.0, 0.03, changed=0)
    assert decided(few, 0.005, lambda: True).passed
    refused = decided(few, 0.005, lambda: False)
    assert refused.undecided and refused.unlock is not None and "about 600 rows" in refused.unlock
    assert decided(few, 0.0, lambda: True).passed


def test_how_many_rows_would_do_grows_with_the_square() -> None:
    decision = decided(change(0.002, -0.008, 0.012), 0.005, never)
    assert decision.unlock is not None and "about 1,600 rows" in decision.unlock


def test_no_number_is_no_pass() -> None:
    odd: Any = change(float("nan"), float("-inf"), float("inf"))
    assert decided(odd, 1.0, never)[:2] == (False, False)
