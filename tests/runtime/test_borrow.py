from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hotlap
from hotlap.errors import InputError
from hotlap.runtime import FakeRunner, Runner
from hotlap.runtime.borrow import poison
from hotlap.tensors import TensorSpec
from tests import tiny


def opened(tmp_path: Path, debug: bool = False) -> Runner:
    return hotlap.open(tiny.save(tiny.add(), tmp_path / "m.onnx"), threads=1, debug=debug)


@pytest.mark.parametrize("rows", [0, 1, 30_000])
def test_views_hold_within_the_block_and_their_memory_is_used_again(tmp_path: Path, rows: int) -> None:
    runner = opened(tmp_path)
    places = set()
    for n in range(1, 6):
        x = np.full((rows, 4), n, np.float32)
        with runner.borrow({"x": x}) as lent:
            assert lent["y"].shape == (rows, 4) and (lent["y"] == 2 * n).all()
            if n > 2:
                places.add(lent["y"].ctypes.data)
        assert (x == n).all()
    assert len(places) == 1, "the same memory each time: nothing was copied or allocated"


def test_two_loans_at_a_time_have_memory_of_their_own(tmp_path: Path) -> None:
    runner = opened(tmp_path)
    one, two = (np.full((1, 4), n, np.float32) for n in (1, 2))
    for _ in range(4):
        with runner.borrow({"x": one}) as first, runner.borrow({"x": two}) as second:
            run = runner(np.full((1, 4), 3, np.float32))
            assert (first["y"][0, 0], second["y"][0, 0], run[0, 0]) == (2, 4, 6)


def test_in_debug_mode_what_is_read_after_the_block_is_nonsense_for_ever(tmp_path: Path) -> None:
    runner = opened(tmp_path, debug=True)
    x = np.ones((1, 4), np.float32)
    kept = []
    for _ in range(4):
        with runner.borrow({"x": x}) as lent:
            assert lent["y"].tolist() == [[2] * 4]
            kept.append(lent["y"])
    assert all(np.isnan(y).all() for y in kept)
    assert x.tolist() == [[1] * 4] and runner(x).tolist() == [[2] * 4]


def test_the_memory_comes_back_after_an_error_in_the_block(tmp_path: Path) -> None:
    runner = opened(tmp_path)
    x = np.ones((1, 4), np.float32)
    places = set()
    for n in range(5):
        with pytest.raises(ZeroDivisionError), runner.borrow({"x": x}) as lent:
            if n > 1:
                places.add(lent["y"].ctypes.data)
            raise ZeroDivisionError
    assert len(places) == 1


def test_outputs_can_be_chosen_and_feeds_are_checked(tmp_path: Path) -> None:
    runner = hotlap.open(tiny.save(tiny.two_outputs(), tmp_path / "m.onnx"))
    feed = {"a": np.ones(2, np.float32), "b": np.ones(2, np.float32)}
    for _ in range(3):
        with runner.borrow(feed, ["product"]) as lent:
            assert list(lent) == ["product"]
    with pytest.raises(InputError, match="no such output"):
        runner.borrow(feed, ["none"])
    with pytest.raises(InputError, match="missing"):
        runner.borrow({"a": feed["a"]})


def test_text_and_fakes_lend_what_they_have(tmp_path: Path) -> None:
    runner = hotlap.open(tiny.save(tiny.text(), tmp_path / "m.onnx"), debug=True)
    with runner.borrow({"x": ["a"]}) as lent:
        assert lent["y"].tolist() == ["a"]
    x = TensorSpec.of("x", "float32", [2])
    fake = FakeRunner([x], [x])
    with fake.borrow({"x": [1, 2]}) as lent:
        assert lent["x"].tolist() == [0, 0]


def test_poison_overwrites_whatever_is_writable() -> None:
    arrays = {
        "f": np.zeros((2, 2), np.float16),
        "i": np.zeros(3, np.int64),
        "F": np.asfortranarray(np.zeros((2, 3))),
        "0": np.zeros((), np.float32),
        "e": np.zeros((0, 2)),
        "t": np.array(["a"], object),
        "list": [1],
    }
    arrays["r"] = np.zeros(2)
    arrays["r"].flags.writeable = False  # type: ignore[union-attr]
    poison(arrays)
    assert np.isnan(arrays["f"]).all() and np.isnan(arrays["F"]).all() and np.isnan(arrays["0"])
    assert arrays["i"].tolist() == [-1] * 3  # type: ignore[union-attr]
    assert arrays["t"].tolist() == ["a"] and arrays["r"].tolist() == [0, 0]  # type: ignore[union-attr]


def test_python_in_development_mode_debugs(tmp_path: Path) -> None:
    import subprocess
    import sys

    path = tiny.save(tiny.add(), tmp_path / "m.onnx")
    script = f"import hotlap; print(hotlap.open({str(path)!r}).debug)"
    for flags, said in (([], "False"), (["-X", "dev"], "True")):
        done = subprocess.run(
            [sys.executable, *flags, "-c", script], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == said
