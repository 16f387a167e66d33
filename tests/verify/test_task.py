from __future__ import annotations

from typing import Any

import pytest

from hotlap.verify.metric import Change
from hotlap.verify.task import decided


def change(drop: float, low: float | None, high: float | None, **more: Any) -> Change:
    settings = {"count": 100, "per": "row", "changed": 5, **more}
    return Change(before=0.9, after=0.9 - drop, low=low, high=high, **settings)


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
    decision = decided(found, 0.005, (lambda: False) if undecided else never)
    assert (decision.passed, decision.undecided) == (passed, undecided)
    assert decision.reason.startswith("it cannot tell") == undecided


def test_no_change_of_the_metric_and_exact_answers_pass_however_few() -> None:
    few = change(0.0, 0.0, 0.03, changed=0, unseen=0.03)
    assert decided(few, 0.005, lambda: True).passed
    refused = decided(few, 0.005, lambda: False)
    assert refused.undecided and refused.unlock is not None and "about 600 rows" in refused.unlock
    assert decided(few, 0.0, lambda: True).passed


@pytest.mark.parametrize("drop", [1e-10, -1e-10, 0.004])
def test_exact_answers_pass_whatever_rounding_makes_of_the_metric(drop: float) -> None:
    for found in (change(drop, None, None, count=3), change(drop, drop - 0.01, drop + 0.01)):
        assert decided(found, 0.005, lambda: True).passed
        assert decided(found, 0.005, lambda: False).undecided
    more = change(0.006, None, None, count=3)
    assert decided(more, 0.005, never).undecided, "a drop that is not allowed is none of rounding"


def test_how_many_rows_would_do_grows_with_the_square() -> None:
    decision = decided(change(0.002, -0.008, 0.012), 0.005, lambda: False)
    assert decision.unlock is not None and "about 1,600 rows" in decision.unlock


def test_no_number_is_no_pass() -> None:
    odd = change(float("nan"), None, None)
    assert decided(odd, 1.0, never)[:2] == (False, False)


@pytest.mark.parametrize("allowed", [0.0, 0.005, 1.0])
def test_without_an_interval_only_the_same_answers_pass(allowed: float) -> None:
    few = change(0.0, None, None, count=1, per="input")
    assert decided(few, allowed, lambda: True).passed
    for one in (few, change(0.1, None, None, count=1, per="input")):
        decision = decided(one, allowed, lambda: False)
        assert (decision.passed, decision.undecided) == (False, True)
        assert decision.reason.startswith("it cannot tell: the metric went from 0.9 to ")
        assert decision.reason.endswith(f"fewer than 6 show no spread); {allowed:g} is allowed")
        assert decision.unlock is not None and decision.unlock.startswith("give more data: 6 inputs or more")
    slow = decided(change(0.001, None, None, slow=True), allowed, lambda: False)
    assert slow.undecided and slow.unlock is not None and "then it is called once" in slow.unlock
    odd = decided(change(0.001, None, None), allowed, lambda: False)
    assert odd.undecided and odd.unlock is not None and "finite numbers" in odd.unlock
