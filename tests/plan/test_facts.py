from __future__ import annotations

import math

import pytest

from hotlap.errors import PlanError
from hotlap.plan import Facts, StuckAxis


def test_nothing_learned_is_unknown_and_not_safe() -> None:
    facts = Facts()
    assert (facts.rows, facts.repeats, facts.axes, facts.padding) == ("unknown", "unknown", {}, {})


def test_facts_made_in_python_are_checked_too() -> None:
    with pytest.raises(PlanError, match=r"facts\.stuck\.fails: expected a whole number of 0 or more"):
        StuckAxis(input="x", axis=0, fails=(-1,))
    with pytest.raises(PlanError, match=r"facts\.repeats_by: expected a finite number"):
        Facts(repeats_by=math.nan)
    with pytest.raises(PlanError, match=r"facts\.seconds\.0: expected a number of rows"):
        Facts(seconds={"0": 1.0})
