from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from hotlap.errors import UsageError
from hotlap.passes.draft import Draft, Origin
from hotlap.passes.rename import Rename
from hotlap.passes.step import apply
from tests import tiny
from tests.passes.asking import answers, draft_of, rng_feed
from tests.real import real


def test_inputs_and_outputs(tmp_path: Path) -> None:
    draft = draft_of(tiny.mlp(), tmp_path)
    made = apply(draft, [Rename({"x": "features", "y": "scores"})]).draft
    assert (made.input_names, made.output_names) == (("features",), ("scores",))
    assert made.inputs == {"features": "x"} and made.outputs == {"scores": Origin("y")}
    feed = rng_feed(x=(2, 16))
    expected = answers(draft, feed, tmp_path)["y"]
    got = answers(made, {"features": feed["x"]}, tmp_path)
    np.testing.assert_array_equal(got["scores"], expected)


def test_names_are_swapped(tmp_path: Path) -> None:
    draft = draft_of(tiny.two_outputs(), tmp_path)
    made = apply(draft, [Rename({"total": "product", "product": "total", "a": "b", "b": "a"})]).draft
    feed = rng_feed(a=(3,), b=(3,))
    before = answers(draft, feed, tmp_path)
    after = answers(made, {"a": feed["b"], "b": feed["a"]}, tmp_path)
    np.testing.assert_array_equal(after["product"], before["total"])
    np.testing.assert_array_equal(after["total"], before["product"])


def test_inner_values_that_are_in_the_way_move_also_in_inner_graphs(tmp_path: Path) -> None:
    draft = draft_of(tiny.branch(), tmp_path)
    applied = apply(draft, [Rename({"x": "t", "y": "sum"})])  # "t" is inside a branch, "sum" beside it
    onnx.checker.check_model(applied.draft.proto, full_check=True)
    assert applied.steps[0].notes[-1].endswith("sum, t") or applied.steps[0].notes[-1].endswith("t, sum")
    for sign in (1, -1):
        feed = {"x": np.full(3, sign, np.float32)}
        expected = answers(draft, feed, tmp_path)["y"]
        np.testing.assert_array_equal(answers(applied.draft, {"t": feed["x"]}, tmp_path)["sum"], expected)


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    draft = draft_of(tiny.two_outputs(), tmp_path)
    for names, told in (
        ({"totl": "x"}, 'no input or output is called "totl".*did you mean "total"'),
        ({"total": "a"}, '"a" is the name of another input or output'),
    ):
        with pytest.raises(UsageError, match=told):
            apply(draft, [Rename(names)])
    with pytest.raises(UsageError, match="cannot have one name"):
        Rename({"a": "z", "b": "z"})
    with pytest.raises(UsageError, match="OLD=NEW"):
        Rename({})
    assert apply(draft, [Rename({"a": "a"})]).draft is draft


def test_a_real_model(tmp_path: Path) -> None:
    model = real("silero")
    draft = Draft.load(model.path)
    made = apply(draft, [Rename({"input": "sound", "stateN": "state", "state": "before"})]).draft
    assert made.input_names == ("sound", "before", "sr") and made.output_names == ("output", "state")
    (feed,) = model.feeds(1)
    before = answers(draft, feed, tmp_path)
    after = answers(made, {"sound": feed["input"], "before": feed["state"], "sr": feed["sr"]}, tmp_path)
    np.testing.assert_array_equal(after["output"], before["output"])
    np.testing.assert_array_equal(after["state"], before["stateN"])
