from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import hotlap
from hotlap.plan import StuckAxis
from hotlap.runtime.probe.structure import find_structure
from hotlap.runtime.probe.tries import Tries
from tests import tiny
from tests.runtime.probe import kinds
from tests.runtime.probe.kinds import facts_of


def test_rows_go_in_and_as_many_come_out(tmp_path: Path) -> None:
    with hotlap.open(tiny.save(kinds.rows_second(), tmp_path / "m.onnx")) as runner:
        tries = Tries(runner, 60)
        feed = {"x": np.random.default_rng(0).standard_normal((1, 20, 3), np.float32)}
        found = find_structure(tries, feed, {})
    assert found is not None and found.whole
    assert (found.rows.axes, found.axes, sorted(found.copies)) == ({"x": 0}, {"y": 1}, [1, 2, 3])
    part = found.split(found.copies[3], 2)["y"]
    assert np.array_equal(part, np.transpose(feed["x"], (1, 0, 2)))


@pytest.mark.parametrize(
    ("model", "works", "fails", "said"),
    [
        (kinds.stuck(), (1,), (2, 3, 4, 5), "cannot be reshaped"),
        (
            kinds.silently_stuck(),
            (1,),
            (2, 3, 4, 5),
            '2 rows went in, and output "y" came out as [1, 16]; declared is float32[1, 8]',
        ),
        (kinds.built_for(8), (8,), (1, 2, 3, 4, 5), "cannot be reshaped"),
    ],
)
def test_dynamic_in_name_only(
    model: onnx.ModelProto, works: tuple[int, ...], fails: tuple[int, ...], said: str, tmp_path: Path
) -> None:
    facts = facts_of(model, tmp_path)
    (axis,) = facts.stuck
    assert axis == StuckAxis(input="x", axis=0, works=works, fails=fails, said=axis.said)
    assert said in axis.said and "\n" not in axis.said
    assert (facts.rows, facts.axes, facts.shapes) == ("unknown", {}, {})


def test_an_input_that_all_rows_share_has_no_axis(tmp_path: Path) -> None:
    """y = x z', where z is a table of any length, not of rows."""
    nodes = [tiny.node("Transpose", ["z"], ["t"], perm=[1, 0]), tiny.node("MatMul", ["x", "t"], ["y"])]
    model = tiny.model(
        nodes,
        [kinds.info("x", kinds.F, [None, 4]), kinds.info("z", kinds.F, [None, 4])],
        [kinds.info("y", kinds.F, [None, None])],
    )
    facts = facts_of(model, tmp_path)
    assert (facts.rows, facts.axes, facts.stuck) == ("independent", {"x": 0, "y": 0}, ())
