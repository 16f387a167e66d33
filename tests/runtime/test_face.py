from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hotlap
from hotlap.errors import InputError, UsageError
from hotlap.runtime import FakeRunner, Runner
from hotlap.runtime.face import Face
from hotlap.tensors import TensorSpec
from tests import tiny


@pytest.fixture(params=["real", "fake"])
def runner(request: pytest.FixtureRequest, tmp_path: Path) -> Face:
    """The same small model, real and scripted: whatever one shows the other shows."""
    if request.param == "real":
        return hotlap.open(tiny.save(tiny.add(), tmp_path / "m.onnx"))
    x, y = TensorSpec.of("x", "float32", ["N", 4]), TensorSpec.of("y", "float32", ["N", 4])
    return FakeRunner([x], [y], answer=lambda feed: {"y": feed["x"] + feed["x"]})


def test_both_answer_alike(runner: Face) -> None:
    x = np.ones((2, 4), np.float32)
    assert runner.run({"x": x})["y"].tolist() == runner(x).tolist() == [[2] * 4] * 2


def test_both_check_the_feed(runner: Face) -> None:
    with pytest.raises(InputError, match="got float64, expected float32"):
        runner.run({"x": np.ones((2, 4))})


def test_both_know_their_outputs(runner: Face) -> None:
    with pytest.raises(InputError, match="no such output"):
        runner.run({"x": np.ones((2, 4), np.float32)}, ["z"])


def test_both_close(runner: Face) -> None:
    with runner as inside:
        assert inside is runner
    with pytest.raises(UsageError, match="is closed"):
        runner(np.ones((2, 4), np.float32))


def test_both_show_the_same_attributes(runner: Face) -> None:
    for name in ("inputs", "outputs", "plan", "model_path", "providers", "placement", "notes", "threads"):
        assert hasattr(runner, name), name
    assert isinstance(runner, Runner | FakeRunner)


def test_a_million_wrong_outputs_get_a_short_answer(runner: Face) -> None:
    with pytest.raises(InputError) as caught:
        runner.run({}, [f"o{n}" for n in range(100_000)])
    assert len(caught.value.problems) == 64
