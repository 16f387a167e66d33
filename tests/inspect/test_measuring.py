from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto as T

from hotlap.errors import ModelError
from hotlap.inspect import measuring
from hotlap.inspect.measuring import MADE, MOST_FEEDS, measured_ranges, spread
from tests import tiny


def test_inputs_and_inner_values_are_measured_over_all_feeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "AT_ONCE", 1)
    path = tiny.save(tiny.mlp(), tmp_path / "m.onnx")
    feeds = [{"x": np.full((1, 16), v, np.float32)} for v in (-2, 3)]
    found = measured_ranges(path, tmp_path, feeds, {})
    assert set(found) == {"x", "h", "r", "y"}
    assert found["x"] == (-2.0, 3.0, True)
    assert found["r"][0] == 0.0, "after Relu"
    assert found["h"][0] < 0 < found["h"][1]


def test_what_is_no_float_is_left_out(tmp_path: Path) -> None:
    path = tiny.save(tiny.gather_mask(), tmp_path / "m.onnx")
    found = measured_ranges(path, tmp_path, None, {"ids": 100})
    assert set(found) == {"e", "mf", "mu", "y"}
    assert found["y"] == (1.0, 1.0, True)


def test_what_is_not_finite_is_told_apart(tmp_path: Path) -> None:
    built = tiny.model(
        [tiny.node("Log", ["x"], ["l"]), tiny.node("Sqrt", ["x"], ["y"])],
        [tiny.info("x", T.FLOAT, ["N"])],
        [tiny.info("y", T.FLOAT, ["N"])],
    )
    feeds = [{"x": np.array(v, np.float32)} for v in ([1, 4], [0, 1], [-1, -4])]
    found = measured_ranges(tiny.save(built, tmp_path / "m.onnx"), tmp_path, feeds, {})
    assert found["y"] == (0.0, 2.0, False)
    assert found["l"] == (0.0, pytest.approx(np.log(4)), False)


def test_half_precision_is_computed_as_float32(tmp_path: Path) -> None:
    built = tiny.model(
        [
            tiny.node("Mul", ["x", "big"], ["m"]),
            tiny.node("Cast", ["m"], ["c"], to=T.FLOAT16),
            tiny.node("Div", ["c", "big"], ["y"]),
        ],
        [tiny.info("x", T.FLOAT16, ["N"])],
        [tiny.info("y", T.FLOAT16, ["N"])],
        {"big": np.float16(60000)},
    )
    path = tiny.save(built, tmp_path / "m.onnx")
    found = measured_ranges(path, tmp_path, [{"x": np.array([2], np.float16)}], {})
    assert found["m"] == found["c"] == (120_000.0, 120_000.0, True)
    assert found["y"] == (2.0, 2.0, True)


def test_a_copy_that_does_not_load_is_an_error(tmp_path: Path) -> None:
    path = tiny.save(tiny.unknown_operator(), tmp_path / "m.onnx")
    with pytest.raises(ModelError):
        measured_ranges(path, tmp_path, None, {})


def test_of_many_feeds_some_are_taken_evenly() -> None:
    many = [{"n": n} for n in range(1000)]
    taken = [feed["n"] for feed in spread(many)]
    assert (len(taken), taken[0], taken[-1]) == (MOST_FEEDS, 0, 999)
    assert taken == sorted(taken)
    assert spread(many[:3]) == many[:3]
    assert MADE > 1
