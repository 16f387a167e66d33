from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import hotlap
from hotlap.errors import DeadlineExceeded, InputError
from hotlap.plan import Facts
from hotlap.runtime import ort
from hotlap.runtime.probe import probe, tries
from hotlap.tensors import TensorSpec
from tests import tiny
from tests.runtime.probe import kinds
from tests.runtime.probe.kinds import facts_of


def test_a_plain_network(tmp_path: Path) -> None:
    facts = facts_of(tiny.mlp(), tmp_path)
    assert (facts.rows, facts.repeats, facts.repeats_by) == ("independent", "equal", 0.0)
    assert facts.axes == {"x": 0, "y": 0}
    assert (facts.stuck, facts.shapes, facts.padding) == ((), {}, {})
    assert set(facts.seconds) == {"1", "2", "3", "8"}
    assert all(0 < s < 10 for s in facts.seconds.values())
    assert facts.onnxruntime == ort.load().__version__
    assert len(facts.date) == 10


@pytest.mark.parametrize(
    ("model", "axes"),
    [
        (kinds.rows_second(), {"x": 0, "y": 1}),
        (kinds.recurrent(["time", "batch", 4], [1, "batch", 8]), {"x": 1, "h": 1, "last": 1}),
        (kinds.recurrent(["T", "B", 4], [1, "B", 8]), {"x": 1, "h": 1, "last": 1}),
        (kinds.recurrent([5, None, 4], [1, None, 8]), {"x": 1, "h": 1, "last": 1}),
        (tiny.add_pair(), {"a": 0, "b": 0, "c": 0}),
        (tiny.two_outputs(), {"a": 0, "b": 0, "total": 0, "product": 0}),
        (tiny.text(), {"x": 0, "y": 0}),
        (tiny.conv(), {"x": 0, "y": 0}),
        (tiny.identity(onnx.TensorProto.FLOAT16, ("N", 4)), {"x": 0, "y": 0}),
        (tiny.identity(onnx.TensorProto.DOUBLE, (None, 4)), {"x": 0, "y": 0}),
    ],
)
def test_rows_lie_along_another_axis_too(
    model: onnx.ModelProto, axes: dict[str, int], tmp_path: Path
) -> None:
    facts = facts_of(model, tmp_path)
    assert (facts.rows, facts.axes) == ("independent", axes), facts.why
    assert facts.stuck == ()


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (kinds.softmax_over_rows(), 'output "y" of a row among 2 changes by 0.5 of its range beside copies'),
        (kinds.centred_by_rows(), 'beside a neighbour ("ordinary")'),
        (kinds.mean_over_rows(), 'output "y" has no axis of rows and changes with each of them'),
        (kinds.largest_column(), "changes in whole numbers or shape"),
        (kinds.dynamically_quantised(), 'beside a neighbour ("loud")'),
        (kinds.quantised_embedding(), "of its range beside a neighbour"),
        (kinds.where_not_zero(), 'output "y" has no axis of rows'),
        (kinds.only_loud_rows(), "came out as [2, 4]"),
        (kinds.reversed_rows(), 'beside a neighbour ("ordinary")'),
        (kinds.numbered_rows(), "beside copies of itself"),
        (kinds.compared_rows(), 'output "y" has no axis of rows'),
        (tiny.branch(), "beside a neighbour"),
    ],
)
def test_rows_that_depend_on_their_neighbours(model: onnx.ModelProto, why: str, tmp_path: Path) -> None:
    facts = facts_of(model, tmp_path)
    assert facts.rows == "dependent"
    assert why in facts.why


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (kinds.stuck(), "with 2 rows: the model does not take this feed: node Reshape"),
        (kinds.random(1.0), "equal runs differ by"),
        (kinds.deaf(), 'output "y" is the same for different rows, so it proves nothing'),
        (kinds.nothing_but_nan(), 'output "y" is the same for different rows, so it proves nothing'),
        (tiny.zipmap(), 'output "scores" is no tensor'),
        (tiny.sequence(), 'output "parts" is no tensor'),
        (tiny.scalar(), "no axis of rows can change"),
        (tiny.no_input(), "the model takes no input"),
        (tiny.identity(shape=(1, 4)), 'no axis of rows can change: input "x" is declared float32[1, 4]'),
        (tiny.identity(shape=(1, "L")), 'no axis of rows can change: input "x" is declared float32[1, L]'),
        (tiny.identity(onnx.TensorProto.BOOL, ("N", 3)), "no two different rows could be made"),
    ],
)
def test_what_cannot_be_learned_is_unknown(model: onnx.ModelProto, why: str, tmp_path: Path) -> None:
    facts = facts_of(model, tmp_path)
    assert facts.rows == "unknown"
    assert why in facts.why


def test_quantised_ids_depend_whatever_is_known_of_them(tmp_path: Path) -> None:
    model = kinds.quantised_embedding()
    for feed in (None, {"ids": np.array([[5, 9, 23, 41, 17]])}):
        for limits in ({}, {"ids": 100}):
            facts = facts_of(model, tmp_path, feed, limits)
            padding = "sensitive" if feed or limits else "unknown"
            assert (facts.rows, facts.padding) == ("dependent", {"L": padding})


def test_runs_that_differ_say_by_how_much(tmp_path: Path) -> None:
    facts = facts_of(kinds.random(1.0), tmp_path)
    assert facts.repeats == "differ"
    assert 0.01 < facts.repeats_by <= 2
    quiet = facts_of(kinds.random(1e-6), tmp_path)
    assert (quiet.rows, quiet.repeats) == ("independent", "differ")
    assert 0 < quiet.repeats_by < 1e-4


def test_a_feed_of_several_rows_gives_its_own(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    feed = {n: rng.standard_normal((4, 3), np.float32) for n in ("a", "b")}
    facts = facts_of(tiny.add_pair(), tmp_path, feed)
    assert (facts.rows, set(facts.seconds)) == ("independent", {"1", "2", "3", "4", "8"})


def test_axes_of_size_zero_are_left_alone(tmp_path: Path) -> None:
    empty = {n: np.zeros((0, 3), np.float32) for n in ("a", "b")}
    facts = facts_of(tiny.add_pair(), tmp_path, empty)
    assert (facts.rows, facts.axes, facts.stuck) == ("unknown", {}, ())
    first_step = {
        **kinds.past_feed(),
        "past": np.zeros((1, 0, 4), np.float32),
        "mask": np.ones((1, 3), np.float32),
    }
    facts = facts_of(kinds.with_past(), tmp_path, first_step)
    assert facts.rows == "independent"
    assert facts.axes == {"x": 0, "past": 0, "mask": 0, "y": 0}


def test_rows_of_one_id_are_varied_too(tmp_path: Path) -> None:
    facts = facts_of(tiny.identity(onnx.TensorProto.INT64, ("N",)), tmp_path)
    assert (facts.rows, facts.axes) == ("independent", {"x": 0, "y": 0})


def test_a_loop_that_never_ends_is_stopped(tmp_path: Path) -> None:
    """It halves until nothing is above one: with NaN turned round, for ever."""
    body = tiny.helper.make_graph(
        [
            tiny.node("Mul", ["before", "half"], ["after"]),
            tiny.node("ReduceMax", ["after"], ["m"], keepdims=0),
            tiny.node("Less", ["m", "one"], ["small"]),
            tiny.node("Not", ["small"], ["on"]),
        ],
        "body",
        [tiny.info("i", kinds.INT, []), tiny.info("go", tiny.T.BOOL, []), tiny.info("before", kinds.F, None)],
        [tiny.info("on", tiny.T.BOOL, []), tiny.info("after", kinds.F, None)],
    )
    weights = {"half": np.float32(0.5), "one": np.float32(1), "true": np.array(True)}
    model = kinds.of_x([tiny.node("Loop", ["", "true", "x"], ["y"], body=body)], ["N", 4], weights)
    facts = facts_of(model, tmp_path, seconds=1.0)
    assert facts.rows == "unknown" and "time was up" in facts.why


@pytest.mark.parametrize("feed", [None, {"x": np.ones((1, 4), np.float32)}])
def test_a_first_run_that_never_ends_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, feed: dict[str, Any] | None
) -> None:
    monkeypatch.setattr(tries, "FIRST", 0.5)
    body = tiny.helper.make_graph(
        [tiny.node("Identity", ["go"], ["on"]), tiny.node("Identity", ["before"], ["after"])],
        "body",
        [tiny.info("i", kinds.INT, []), tiny.info("go", tiny.T.BOOL, []), tiny.info("before", kinds.F, None)],
        [tiny.info("on", tiny.T.BOOL, []), tiny.info("after", kinds.F, None)],
    )
    loop = tiny.node("Loop", ["", "true", "x"], ["y"], body=body)
    with pytest.raises(DeadlineExceeded, match=r"its first run did not end within 0\.5 s"):
        facts_of(kinds.of_x([loop], ["N", 4], {"true": np.array(True)}), tmp_path, feed)


def test_a_feed_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='input "x": missing'):
        facts_of(tiny.add(), tmp_path, {})
    with pytest.raises(InputError, match="cannot be reshaped"):
        facts_of(kinds.stuck(), tmp_path, {"x": np.ones((2, 8), np.float32)})


def test_without_time_everything_is_unknown(tmp_path: Path) -> None:
    facts = facts_of(tiny.mlp(), tmp_path, seconds=0)
    assert (facts.rows, facts.repeats, facts.axes, facts.seconds) == ("unknown", "unknown", {}, {})
    assert "time was up" in facts.why


def test_anything_that_runs_can_be_probed() -> None:
    class Doubling:
        inputs = (TensorSpec.of("x", "float32", ["N", 4]),)
        outputs = (TensorSpec.of("y", "float32", ["N", 4]),)

        def run(self, feed: dict[str, Any]) -> dict[str, Any]:
            return {"y": feed["x"] * 2}

    facts = probe(Doubling())
    assert (facts.rows, facts.axes) == ("independent", {"x": 0, "y": 0})


def test_failed_tries_write_nothing_to_stderr(tmp_path: Path) -> None:
    path = tiny.save(kinds.stuck(), tmp_path / "m.onnx")
    script = (
        "import hotlap; from hotlap.runtime.probe import probe\n"
        f"print(probe(hotlap.open({str(path)!r})).stuck[0].fails)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("(2, 3, 4, 5)\n", "")


def test_facts_go_into_a_plan_and_back(tmp_path: Path) -> None:
    facts = facts_of(kinds.wrongly_declared(), tmp_path)
    model = hotlap.plan.ModelRef(path="m.onnx", digest="sha256:" + "0" * 64)
    plan = hotlap.Plan(model=model, facts=facts)
    assert hotlap.Plan.loads(plan.dumps()).facts == facts
    assert isinstance(facts, Facts)


@pytest.mark.parametrize("given", [np.ones(3, np.float32), None])
def test_the_users_feed_is_taken_as_a_runner_takes_it(tmp_path: Path, given: Any) -> None:
    float32, make = onnx.TensorProto.FLOAT, onnx.helper
    kind = make.make_optional_type_proto(make.make_tensor_type_proto(float32, ["N"]))
    built = tiny.model(
        [tiny.node("OptionalHasElement", ["o"], ["has"]), tiny.node("And", ["flags", "has"], ["y"])],
        [tiny.info("flags", onnx.TensorProto.BOOL, ["N", 4]), make.make_value_info("o", kind)],
        [tiny.info("y", onnx.TensorProto.BOOL, ["N", 4])],
        opset=18,
    )
    facts = facts_of(built, tmp_path, {"flags": np.eye(2, 4, dtype=bool), "o": given})
    assert facts.axes == {"flags": 0, "y": 0} and facts.shapes == {}


def test_what_is_no_array_is_not_probed(tmp_path: Path) -> None:
    make = onnx.helper
    kind = make.make_sequence_type_proto(make.make_tensor_type_proto(onnx.TensorProto.FLOAT, ["N"]))
    built = tiny.model(
        [tiny.node("SequenceLength", ["s"], ["y"])],
        [make.make_value_info("s", kind)],
        [tiny.info("y", onnx.TensorProto.INT64, [])],
    )
    with pytest.raises(InputError, match='input "s": list given, probing needs an array'):
        facts_of(built, tmp_path, {"s": [np.ones(3, np.float32)]})
