from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import hotlap
from hotlap.runtime.probe.lengths import Length, find_lengths
from hotlap.runtime.probe.structure import find_structure
from hotlap.runtime.probe.tries import Feed, Tries
from tests import tiny
from tests.runtime.probe import kinds
from tests.runtime.probe.kinds import facts_of


def lengths_of(model: onnx.ModelProto, feed: Feed, folder: Path) -> dict[str, Length]:
    with hotlap.open(tiny.save(model, folder / "m.onnx"), warm=False) as runner:
        tries = Tries(runner, 60)
        found = find_structure(tries, feed, {})
        return {length.key: length for length in find_lengths(tries, feed, found)}


def test_one_larger_and_one_smaller_size_are_enough(tmp_path: Path) -> None:
    feed = {"ids": np.ones((1, 12), np.int64), "mask": np.ones((1, 12), np.int64)}
    found = lengths_of(tiny.gather_mask(), feed, tmp_path)
    assert set(found) == {"L"}
    assert (found["L"].works, found["L"].fails, found["L"].along) == ([24, 6], {}, ())


def test_sizes_that_fail_for_a_good_reason_do_not_make_an_axis_stuck(tmp_path: Path) -> None:
    """A net that halves three times takes multiples of 8."""
    facts = facts_of(tiny.conv(multiple=8), tmp_path, {"x": np.ones((1, 3, 24, 24), np.float32)})
    assert facts.stuck == ()
    # Nothing shorter than its kernel runs.
    nodes = [tiny.node("Conv", ["x", "k"], ["y"])]
    kernel = {"k": np.ones((1, 1, 9), np.float32)}
    short = kinds.of_x(nodes, ["N", 1, "M"], kernel, ("N", 1, "L"))
    assert facts_of(short, tmp_path, {"x": np.ones((1, 1, 9), np.float32)}).stuck == ()


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (kinds.one_length(), "cannot be reshaped"),
        (kinds.length_becomes_rows(), '1 rows went in, and output "y" came out as [2, 32]'),
    ],
)
def test_only_one_length_works(model: onnx.ModelProto, said: str, tmp_path: Path) -> None:
    facts = facts_of(model, tmp_path)
    (axis,) = facts.stuck
    assert (axis.input, axis.axis, axis.works) == ("x", 1, (32,))
    assert axis.fails == (1, 16, 31, 33, 40, 64)
    assert said in axis.said
    assert (facts.rows, facts.axes, facts.padding) == ("independent", {"x": 0, "y": 0}, {"L": "unknown"})


def test_axes_without_names_that_must_be_equal_move_together(tmp_path: Path) -> None:
    model = tiny.gather_mask()
    for value in model.graph.input:
        del value.type.tensor_type.shape.dim[:]
        for _ in range(2):
            value.type.tensor_type.shape.dim.add()
    feed = {"ids": np.ones((1, 12), np.int64), "mask": np.ones((1, 12), np.int64)}
    found = lengths_of(model, feed, tmp_path)
    assert found["ids[1]"].along == (((("mask", 1),), 12),)
    assert found["ids[1]"].works == [13, 24]
    assert not any(n.stuck() for n in found.values())


def test_axes_that_must_grow_by_as_much_move_together(tmp_path: Path) -> None:
    found = lengths_of(kinds.with_past(), kinds.past_feed(), tmp_path)
    assert found["S"].along == (((("mask", 1),), 10),)
    assert found["P"].along == (((("mask", 1),), 10),)
    assert found["PS"].works and not any(n.stuck() for n in found.values())


def test_too_little_evidence_is_no_verdict() -> None:
    few = Length("L", (("x", 1),), 32, fails={33: "no", 64: "no"})
    assert few.stuck() == ()
    one_side = Length("L", (("x", 1),), 32, fails={33: "no", 64: "no", 40: "no"})
    assert one_side.stuck() == ()
    both = Length("L", (("x", 1),), 32, fails={33: "no", 64: "no", 31: "no"})
    assert both.stuck()[0].said == "no"
