from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.bench import Target
from hotlap.errors import ModelError, TargetFailed, UsageError
from hotlap.verify.sides import Sides, spread
from tests import tiny


@given(st.integers(1, 500), st.integers(1, 100))
def test_spread_takes_some_of_all(count: int, most: int) -> None:
    numbers = spread(count, most)
    assert len(numbers) == min(count, most)
    assert numbers[0] == 0 and numbers == sorted(set(numbers)) and numbers[-1] < count
    gaps = np.diff(numbers)
    assert gaps.size == 0 or gaps.max() - gaps.min() <= 1


def test_answers_are_found_again_by_name_until_they_are_forgotten(tmp_path: Path) -> None:
    target = Target.default(tiny.save(tiny.add(), tmp_path / "add.onnx"))
    sides = Sides([{"x": [[1.0, 2, 3, n]]} for n in range(3)])
    try:
        with pytest.raises(TargetFailed, match=r"expected: \(tensor\(float\)\)"):
            sides.ask([sides.one(target, "first")], "add", 60)
    finally:
        sides.close()
    sides = Sides([{"x": np.full((1, 4), n, np.float32)} for n in range(3)])
    try:
        sides.ask([sides.one(target, "first"), sides.one(target, "some", [2])], "add", 60)
        assert [a["y"][0, 0] for a in sides.answers("first")] == [0, 2, 4]
        assert [a["y"][0, 0] for a in sides.answers("some", [2])] == [4]
        assert sides.feed(1)["x"].tolist() == [[1, 1, 1, 1]]
        assert 0 < sides.seconds("first") < 60
        sides.forget("first")
        assert not (sides.home / "first").exists()
    finally:
        sides.close()
    sides.close()
    assert not sides.home.exists()


def test_inputs_are_made_once_where_none_are_given(tmp_path: Path) -> None:
    target = Target.default(tiny.save(tiny.add(), tmp_path / "add.onnx"))
    sides = Sides(None, target)
    try:
        sides.ask([sides.one(target, "first")], "add", 60)
        before = sides.feed(0)["x"]
        sides.ask([sides.one(target, "second")], "add", 60)
        assert sides.inputs == 8 == len(list(sides.answers("second")))
        assert {sides.feed(n)["x"].shape[0] for n in range(8)} == {1, 2, 3, 7, 17}
        assert np.array_equal(before, sides.feed(0)["x"])
    finally:
        sides.close()


def test_no_input_is_refused() -> None:
    with pytest.raises(UsageError, match="no inputs"):
        Sides([])


def test_a_target_that_cannot_open_fails_with_its_reason(tmp_path: Path) -> None:
    sides = Sides([{"x": np.zeros(1)}])
    try:
        with pytest.raises(TargetFailed, match=r"gone: .*no\.onnx") as failure:
            sides.ask([sides.one(Target.default(tmp_path / "no.onnx"), "first")], "gone", 60)
        assert isinstance(failure.value.__cause__, ModelError)
    finally:
        sides.close()
