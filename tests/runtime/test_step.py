from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hotlap
from hotlap.errors import InputError, UsageError
from hotlap.runtime import FakeRunner, Runner
from hotlap.runtime.step import copy_into, prebound
from hotlap.tensors import TensorSpec
from tests import tiny


@pytest.fixture(params=["real", "fake", "plain"])
def runner(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A step that is bound, and one that only looks like it."""
    if request.param == "fake":
        x = TensorSpec.of("x", "float32", ["N", 4])
        return FakeRunner([x], [TensorSpec.of("y", "float32", ["N", 4])], answer=lambda f: {"y": 2 * f["x"]})
    if request.param == "plain":
        monkeypatch.setattr("hotlap.runtime.wiring.Wiring._why_not", lambda *args: "for this test")
    return hotlap.open(tiny.save(tiny.add(), tmp_path / "m.onnx"), threads=1)


def test_write_call_read(runner: Any) -> None:
    step = runner.step({"x": (2, 4)})
    for n in range(1, 5):
        step.inputs["x"][...] = n
        outputs = step()
        assert outputs is step.outputs
        assert (outputs["y"] == 2 * n).all() and outputs["y"].shape == (2, 4)
        assert (step.inputs["x"] == n).all()


def test_outputs_are_the_same_arrays_from_call_to_call(runner: Any) -> None:
    step = runner.step({"x": (2, 4)})
    first = step()["y"]
    step.inputs["x"][...] = 5
    assert step()["y"] is first and (first == 10).all()
    assert (runner(np.ones((2, 4), np.float32)) == 2).all() and (first == 10).all(), "apart from run's"


def test_shapes_are_checked_when_the_step_is_made(runner: Any) -> None:
    with pytest.raises(InputError, match="axis 1 has size 5, expected 4"):
        runner.step({"x": (2, 5)})
    with pytest.raises(InputError, match=r'"z".*no input of that name'):
        runner.step({"z": (2, 4)})


def test_after_close_a_step_says_so(runner: Any) -> None:
    step = runner.step({"x": (1, 4)})
    runner.close()
    with pytest.raises(UsageError, match="is closed: open the model again"):
        step()


def test_an_output_whose_shape_depends_on_the_values(tmp_path: Path) -> None:
    built = tiny.model(
        [tiny.node("NonZero", ["x"], ["y"])], [tiny.info("x", 1, ["N"])], [tiny.info("y", 7, [1, None])]
    )
    step = hotlap.open(tiny.save(built, tmp_path / "m.onnx")).step({"x": (4,)})
    kept = []
    for n in (4, 2, 0, 3):
        step.inputs["x"][...] = [1] * n + [0] * (4 - n)
        kept.append(step()["y"])
        assert kept[-1].tolist() == [list(range(n))]
    assert [k.shape[1] for k in kept] == [4, 2, 0, 3]


def test_an_output_that_is_an_input(tmp_path: Path) -> None:
    built = tiny.model(
        [tiny.node("Neg", ["x"], ["y"])],
        [tiny.info("x", 1, ["N"])],
        [tiny.info("x", 1, ["N"]), tiny.info("y", 1, ["N"])],
    )
    step = hotlap.open(tiny.save(built, tmp_path / "m.onnx")).step({"x": (2,)})
    step.inputs["x"][...] = 3
    outputs = step()
    step.inputs["x"][...] = 4
    assert (list(outputs), outputs["x"].tolist(), outputs["y"].tolist()) == (["x", "y"], [3, 3], [-3, -3])


def test_threads_take_a_step_each(tmp_path: Path) -> None:
    runner: Runner = hotlap.open(tiny.save(tiny.add(), tmp_path / "m.onnx"), threads=1)
    wrong = []

    def work(thread: int) -> None:
        step = runner.step({"x": (1, 4)})
        for n in range(500):
            step.inputs["x"][...] = thread * 1000 + n
            if (step()["y"] != 2 * (thread * 1000 + n)).any():
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(t,)) for t in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_step_that_runs_already_is_refused_and_recovers() -> None:
    steps: list[Any] = []

    def run(binding: Any, options: Any) -> None:
        if binding == "again":
            steps[0]()

    steps.append(prebound(run, "again", None, {}, {}, None, lambda error: error))
    for _ in range(2):
        with pytest.raises(UsageError, match="give each thread a step of its own"):
            steps[0]()
    calm = prebound(run, "once", None, {}, {"y": 1}, None, lambda error: error)
    assert calm() == {"y": 1}


def test_what_ort_raises_is_translated(tmp_path: Path) -> None:
    runner = hotlap.open(tiny.save(tiny.gather_mask(rows=10), tmp_path / "m.onnx"))
    step = runner.step({"ids": (1, 4), "mask": (1, 4)})
    step.inputs["ids"][...] = 99
    with pytest.raises(InputError, match="node Gather: indices element out of data bounds"):
        step()
    step.inputs["ids"][...] = 1
    assert step()["y"].shape == (1, 4, 8)


def test_results_are_copied_where_they_fit() -> None:
    outputs: dict[str, Any] = {}
    copy_into(outputs, {"a": np.zeros(2), "b": ["x"]})
    first = outputs["a"]
    copy_into(outputs, {"a": np.ones(2), "b": ["y"]})
    assert outputs["a"] is first and first.tolist() == [1, 1] and outputs["b"] == ["y"]
    copy_into(outputs, {"a": np.ones(3)})
    assert outputs["a"].shape == (3,)
