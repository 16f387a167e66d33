"""Arrays of `input_buffer` whose shape a caller changes, or whose place in memory another one takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hotlap
from hotlap.runtime import Runner
from tests import tiny


@pytest.fixture
def add(tmp_path: Path) -> Runner:
    """y = x + x, of any two sizes."""
    x, y = tiny.info("x", 1, ["N", "M"]), tiny.info("y", 1, ["N", "M"])
    built = tiny.model([tiny.node("Add", ["x", "x"], ["y"])], [x], [y])
    return hotlap.open(tiny.save(built, tmp_path / "m.onnx"), threads=1)


def learnt_nothing_wrong(runner: Runner) -> bool:
    live = runner._live
    return live is not None and live.changing == set() and live._quick


def test_a_buffer_given_another_shape_is_another_signature(add: Runner) -> None:
    for times in (1, 2, 3):
        x = add.input_buffer("x", (1, 4))
        x[...] = 3
        for _ in range(times):
            assert add.run({"x": x})["y"].shape == (1, 4)
        x.shape = (2, 2)
        assert add.output_buffer("y", {"x": x}).shape == (2, 2)
        out = np.empty((2, 2), np.float32)
        assert add.run({"x": x}, out={"y": out})["y"].tolist() == [[6, 6], [6, 6]]
        for _ in range(3):
            assert add.run({"x": x})["y"].tolist() == [[6, 6], [6, 6]]
            with add.borrow({"x": x}) as lent:
                assert lent["y"].tolist() == [[6, 6], [6, 6]]
        x.shape = (1, 4)
        assert add.run({"x": x})["y"].tolist() == [[6, 6, 6, 6]]
    assert learnt_nothing_wrong(add)


def test_another_buffer_in_the_place_of_one_that_is_gone(add: Runner) -> None:
    x: Any = add.input_buffer("x", (1, 4))
    add.run({"x": x})
    place = id(x)
    for _ in range(1000):
        del x
        x = add.input_buffer("x", (2, 2))
        if id(x) == place:
            break
    else:
        pytest.skip("this Python does not use the place again")
    x[...] = 1
    for _ in range(3):
        assert add.run({"x": x}, out={"y": np.empty((2, 2), np.float32)})["y"].tolist() == [[2, 2]] * 2
        assert add.run({"x": x})["y"].tolist() == [[2, 2]] * 2
    assert learnt_nothing_wrong(add)


def test_a_loan_that_does_not_take_a_feed_is_kept(add: Runner) -> None:
    wide = np.ones((300, 600), np.float32)
    for _ in range(3):
        with add.borrow({"x": wide}):
            pass
    store = add._alive().store()
    [free] = store.loans.values()
    before = list(free)
    assert len(before) == 1
    assert add._alive().lend_again({"x": wide[:, ::-1]}) is None, "bound as it lies, so not of this layout"
    assert free == before
    with add.borrow({"x": wide[:, ::-1]}) as lent:
        assert (lent["y"] == 2).all()
    assert free == before
