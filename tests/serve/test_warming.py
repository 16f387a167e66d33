from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

import hotlap
from hotlap.errors import InputError, PlanError
from hotlap.plan import Facts, Plan
from hotlap.serve import warming
from hotlap.serve.rows import Rows
from hotlap.tensors import TensorSpec
from tests import tiny
from tests.serve import made

ROWS = Rows(made.INDEPENDENT, [made.X], [made.Y])


def test_one_feed_for_each_shape_that_the_plan_lists() -> None:
    runner = made.fake(plan=Plan(warm=({"x": (1, 4)}, {"x": (6, 4)})))
    assert [f["x"].shape for f in warming.feeds(runner)] == [(1, 4), (6, 4)]
    assert [f["x"].shape for f in runner.calls] == [(1, 4), (6, 4)]


def test_a_plan_without_shapes_gets_a_feed_that_runs() -> None:
    assert [f["x"].shape for f in warming.feeds(made.fake())] == [(1, 4)]


def test_a_shape_that_does_not_fit_is_the_plans_mistake() -> None:
    runner = made.fake(plan=Plan(warm=({"x": (1, 4)}, {"x": (1, 5)})))
    with pytest.raises(PlanError, match=r'warm\[1\]: input "x"'):
        warming.feeds(runner)


def test_where_no_made_feed_runs_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    def picky(feed: object) -> object:
        raise InputError("sides must divide by 7")

    with caplog.at_level(logging.WARNING, "hotlap.serve"):
        assert warming.feeds(made.fake(picky)) == []
    assert "no made feed runs (sides must divide by 7)" in caplog.text


def test_the_time_of_one_two_four_rows_is_measured() -> None:
    runner = made.fake()
    curve, timed = warming.measure(runner, ROWS, {"x": made.rows(1)}, most=6)
    assert curve is not None
    assert (sorted(curve.seconds), curve.nbytes) == ([1, 2, 4], 16)
    assert [(t.shapes["x"], t.nbytes) for t in timed] == [((n, 4), 16 * n) for n in (1, 1, 2, 4)]


def test_rows_are_those_of_the_first_row_of_what_the_plan_lists() -> None:
    curve, timed = warming.measure(made.fake(), ROWS, {"x": made.rows(1, 2, 3)}, most=2)
    assert curve is not None and sorted(curve.seconds) == [1, 2]
    assert [t.shapes["x"] for t in timed] == [(3, 4), (1, 4), (2, 4)]


def test_inputs_without_rows_stay_as_they_are_and_other_axes_grow() -> None:
    state, rate = TensorSpec.of("s", "float32", [2, "N", 3]), TensorSpec.of("rate", "int64", [])
    runner = made.fake(
        lambda feed: {"z": feed["s"]},
        inputs=[state, rate],
        outputs=[TensorSpec.of("z", "float32", [2, "N", 3])],
    )
    rows = Rows(Facts(rows="independent", axes={"s": 1, "z": 1}), runner.inputs, runner.outputs)
    feed = {"s": np.zeros((2, 1, 3), np.float32), "rate": np.array(8)}
    curve, timed = warming.measure(runner, rows, feed, most=2)
    assert curve is not None and curve.nbytes == 24 + 8
    assert timed[-1].shapes == {"s": (2, 2, 3), "rate": ()}


def test_text_is_counted_as_in_requests() -> None:
    runner = made.fake(
        lambda feed: {"y": feed["t"]},
        inputs=[TensorSpec.of("t", "string", ["N"])],
        outputs=[TensorSpec.of("y", "string", ["N"])],
    )
    rows = Rows(Facts(rows="independent", axes={"t": 0, "y": 0}), runner.inputs, runner.outputs)
    curve, _ = warming.measure(runner, rows, {"t": np.array(["aü"], object)}, most=2)
    assert curve is not None and curve.nbytes == 4 + 3


def test_where_rows_share_no_call_only_the_feed_is_measured() -> None:
    rows = Rows(Facts(), [made.X], [made.Y])
    curve, timed = warming.measure(made.fake(), rows, {"x": made.rows(1)}, most=8)
    assert curve is None and len(timed) == 1
    assert warming.measure(made.fake(), ROWS, {"x": made.rows(1)}, most=1)[0] is None


def test_a_slow_model_is_measured_with_fewer_rows() -> None:
    runner = made.fake(latency=lambda feed: 0.02 * len(feed["x"]))
    curve, _ = warming.measure(runner, ROWS, {"x": made.rows(1)}, most=1024, seconds=0.2)
    assert curve is not None and 1 <= curve.most <= 8


def test_a_number_of_rows_that_fails_ends_the_curve(caplog: pytest.LogCaptureFixture) -> None:
    def four_at_most(feed: dict[str, np.ndarray]) -> object:
        if len(feed["x"]) > 4:
            raise InputError("too many")
        return made.doubled(feed)

    with caplog.at_level(logging.WARNING, "hotlap.serve"):
        curve, _ = warming.measure(made.fake(four_at_most), ROWS, {"x": made.rows(1)}, most=32)
    assert curve is not None and curve.most == 4
    assert "does not run with 8 rows" in caplog.text


def test_warming_leaves_the_thread_with_bound_buffers(tmp_path: Path) -> None:
    model = tiny.save(tiny.mlp(), tmp_path / "m.onnx")
    with hotlap.open(model, warm=False) as runner:
        warming.warm(runner, warming.feeds(runner))
        assert runner._live is not None and runner._live.store().bound
