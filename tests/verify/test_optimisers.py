from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto as T

from hotlap.bench import Target
from hotlap.plan import Plan
from hotlap.verify import Reference, Verdict
from hotlap.verify.noise import unoptimised
from hotlap.verify.optimisers import LEAVE_OUT, RULES, blame, fewest, optimised
from tests import tiny


@given(st.integers(1, 24), st.data())
def test_the_fewest_are_found_where_several_are_needed_together(count: int, data: st.DataObject) -> None:
    names = [f"o{n}" for n in range(count)]
    guilty = set(data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=3)))
    asked: list[int] = []

    def agrees(some: Sequence[str]) -> bool:
        asked.append(len(some))
        return guilty <= set(some)

    assert set(fewest(names, agrees)) == guilty
    assert len(asked) <= count**2 + 3 * count


def test_where_leaving_all_out_does_not_help_nobody_is_named() -> None:
    assert fewest(["a", "b"], lambda some: False) == []


def test_of_several_that_would_do_the_last_is_named() -> None:
    assert fewest(["early", "x", "late"], lambda some: bool({"early", "late"} & set(some))) == ["late"]


def gelu(tmp_path: Path) -> Path:
    """y = gelu(x), spelt out as exporters do."""
    nodes = [
        tiny.node("Div", ["x", "root"], ["d"]),
        tiny.node("Erf", ["d"], ["e"]),
        tiny.node("Add", ["e", "one"], ["a"]),
        tiny.node("Mul", ["x", "a"], ["m"]),
        tiny.node("Mul", ["m", "half"], ["y"]),
    ]
    values = [tiny.info(name, T.FLOAT, ["N", 64]) for name in ("x", "y")]
    weights = {"root": 2**0.5, "one": 1.0, "half": 0.5}
    import numpy as np

    model = tiny.model(nodes, values[:1], values[1:], {k: np.float32(v) for k, v in weights.items()})
    return tiny.save(model, tmp_path / "gelu.onnx")


def test_the_optimiser_that_changes_the_answers_is_named(tmp_path: Path) -> None:
    """ONNX Runtime can be asked to compute Gelu by an approximation: a wrong fusion, on demand."""
    target = optimised(Target.default(gelu(tmp_path)), **{"optimization.enable_gelu_approximation": True})
    with Reference(unoptimised(target)) as reference:
        assert not reference.judge(target).passed
        found = blame(reference, target)
        assert found.optimisers == ("GeluApproximation",)
        assert {"GeluApproximation", "GeluFusionL2"} <= set(found.changed) and found.tried >= 2
        without = optimised(target, **{LEAVE_OUT: "GeluApproximation"})
        assert reference.judge(without).passed


def test_rules_that_are_logged_together_are_all_asked(tmp_path: Path) -> None:
    nodes = [tiny.node("Identity", ["x"], ["h"]), tiny.node("Relu", ["h"], ["y"])]
    values = [tiny.info(name, T.FLOAT, ["N"]) for name in ("x", "y")]
    path = tiny.save(tiny.model(nodes, values[:1], values[1:]), tmp_path / "m.onnx")
    with Reference(unoptimised(Target.default(path))) as reference:
        found = blame(reference, Target.default(path))
    assert set(RULES) <= set(found.changed)


def test_a_plan_keeps_what_it_says(tmp_path: Path) -> None:
    path = gelu(tmp_path)
    changed = optimised(optimised(Target.default(path), log_severity_level=1), **{LEAVE_OUT: "A;B"})
    plan = Plan.loads(changed.plan or "")
    assert plan.session == {"log_severity_level": 1, LEAVE_OUT: "A;B"}
    assert changed.model == str(path) and changed.label == "default"


@pytest.mark.parametrize("name", RULES)
def test_the_rules_are_names_that_a_plan_may_hold(name: str) -> None:
    Plan(session={LEAVE_OUT: name})


class Scripted:
    """A reference that agrees only where both optimisers are left out."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def log_of(self, target: Target) -> str:
        assert Plan.loads(target.plan or "").session[LEAVE_OUT] == "Mine"
        return "GraphTransformer Theirs modified: 1\nGraphTransformer Other modified: 1"

    def judge(self, target: Target, level: str) -> Verdict:
        self.asked.append(str(Plan.loads(target.plan or "").session[LEAVE_OUT]))
        passed = {"Mine", "Theirs"} <= set(self.asked[-1].split(";"))
        return Verdict(level=level, passed=passed, reason="")


def test_what_the_plan_leaves_out_already_stays_left_out(tmp_path: Path) -> None:
    target = optimised(Target.default(gelu(tmp_path)), **{LEAVE_OUT: "Mine"})
    reference: Any = Scripted()
    found = blame(reference, target)
    assert (found.optimisers, found.already) == (("Theirs",), ("Mine",))
    assert found.setting == "Mine;Theirs"
    assert all(one.startswith("Mine;") for one in reference.asked)
