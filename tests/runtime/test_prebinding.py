from __future__ import annotations

from pathlib import Path

import numpy as np

import hotlap
from hotlap.runtime.prebinding import bind_step, bind_stream, read_state
from tests import tiny


def test_a_step_writes_into_its_arrays_where_the_shape_follows_from_the_inputs(tmp_path: Path) -> None:
    runner = hotlap.open(tiny.save(tiny.two_outputs(), tmp_path / "m.onnx"))
    live = runner._alive()
    inputs = {"a": np.full(2, 3, np.float32), "b": np.full(2, 4, np.float32)}
    step = bind_step(live, inputs, runner.run(inputs))
    total, product = step.outputs["total"], step.outputs["product"]
    assert step() is step.outputs
    assert (total.tolist(), product.tolist()) == ([7, 7], [12, 12])
    live.changing.add("total")
    again = bind_step(live, inputs, runner.run(inputs))
    first = again()["total"]
    inputs["a"][...] = 0
    assert (again()["total"].tolist(), first.tolist()) == ([4, 4], [7, 7])


def test_a_stream_hands_the_state_on_as_ort_s_own_value(tmp_path: Path) -> None:
    runner = hotlap.open(tiny.save(tiny.two_outputs(), tmp_path / "m.onnx"))
    live = runner._alive()
    once = bind_stream(live, {"a": "total"})
    b = np.ones(2, np.float32)
    answers, state = once({"b": b}, {"a": np.zeros(2, np.float32)}, live.options)
    answers, state = once({"b": b}, state, live.options)
    assert answers["product"].tolist() == [1, 1] and list(answers) == ["product"]
    assert not isinstance(state["a"], np.ndarray) and read_state(state["a"]).tolist() == [2, 2]
    assert read_state(b) is not b
