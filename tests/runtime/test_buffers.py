from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import hotlap
from hotlap.errors import InputError, UsageError
from hotlap.runtime import FakeRunner, Runner
from hotlap.runtime.buffers import check_out, empty_array, follow, sizes_in
from hotlap.tensors import TensorSpec
from tests import tiny
from tests.runtime.layouts import LAYOUTS

T = onnx.TensorProto
Y = TensorSpec.of("y", "float32", ["N", 4])
X = np.ones((2, 4), np.float32)


@pytest.fixture
def add(tmp_path: Path) -> Runner:
    return hotlap.open(tiny.save(tiny.add(), tmp_path / "m.onnx"), threads=1)


def refused(runner: Any, out: Any, word: str, feed: Any = None) -> None:
    with pytest.raises(InputError, match=word):
        runner.run({"x": X} if feed is None else feed, out=out)


def test_the_answer_is_written_into_the_array_itself(add: Runner) -> None:
    y = np.zeros((2, 4), np.float32)
    for n in range(1, 5):
        result = add.run({"x": X * n}, out={"y": y})
        assert result["y"] is y and (y == 2 * n).all()
    aside = add.run({"x": X})["y"]
    assert (y == 8).all() and not np.shares_memory(aside, y), "the array is not bound any longer"


def test_a_part_of_a_larger_array_is_written_and_nothing_else(add: Runner) -> None:
    batch = np.zeros((6, 4), np.float32)
    add.run({"x": X}, out={"y": batch[2:4]})
    assert batch.sum(axis=1).tolist() == [0, 0, 8, 8, 0, 0]


def test_outputs_that_are_not_given_come_as_ever(tmp_path: Path) -> None:
    runner = hotlap.open(tiny.save(tiny.two_outputs(), tmp_path / "m.onnx"))
    a, b, total = np.full(3, 2, np.float32), np.full(3, 3, np.float32), np.zeros(3, np.float32)
    for _ in range(3):
        result = runner.run({"a": a, "b": b}, out={"total": total})
        assert list(result) == ["total", "product"]
        assert (result["total"] is total, total.tolist(), result["product"].tolist()) == (
            True,
            [5] * 3,
            [6] * 3,
        )
    assert list(runner.run({"a": a, "b": b}, outputs=["product"], out={"total": total})) == ["product"]


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_only_whole_writable_aligned_arrays_are_taken(add: Runner, layout: str) -> None:
    out = LAYOUTS[layout](np.zeros((2, 4), np.float32))
    words = {
        "read-only": "the array is read-only",
        "broadcast": "the array is read-only",
        "unaligned": "the array is not aligned",
    }
    if layout in ("C", "subclass"):
        assert add.run({"x": X}, out={"y": out})["y"] is out
        assert (np.asarray(out) == 2).all()
    else:
        before = out.tobytes()
        refused(add, {"y": out}, words.get(layout, "the array is not C-contiguous"))
        assert out.tobytes() == before


def test_what_does_not_fit_is_refused_before_the_model_runs(add: Runner) -> None:
    for _ in range(3):  # with the shapes unknown, and known
        refused(add, {"y": np.zeros((2, 4))}, "got float64, expected float32")
        refused(add, {"y": np.zeros((2, 4), ">f4")}, "of foreign byte order, expected float32")
        refused(add, {"y": np.zeros((3, 4), np.float32)}, r"got shape \[3, 4\], the model gives \[2, 4\]")
        refused(add, {"y": np.zeros((2, 5), np.float32)}, r'out "y": .*5')
        refused(add, {"y": np.zeros(8, np.float32)}, r'out "y": ')
        refused(add, {"y": [[0.0] * 4] * 2}, "list given, expected an array to write into")
        refused(add, {"y": np.ma.zeros((2, 4), np.float32)}, "masked array")
        refused(add, {"z": np.zeros((2, 4), np.float32)}, r'out "z": no such output.*it gives y')
        add.run({"x": X})


def test_memory_that_the_model_reads_is_refused(tmp_path: Path) -> None:
    runner = hotlap.open(tiny.save(tiny.two_outputs(), tmp_path / "m.onnx"))
    memory = np.zeros(100, np.float32)
    a, b = memory[:10], memory[20:30]
    feed = {"a": a, "b": b}
    refused(runner, {"total": a}, 'shares memory with input "a"', feed)
    refused(runner, {"total": memory[5:15]}, 'shares memory with input "a"', feed)
    refused(runner, {"total": memory[25:35]}, 'shares memory with input "b"', feed)
    same = memory[40:50]
    refused(
        runner, {"total": same, "product": same}, 'out "product": it shares memory with out "total"', feed
    )
    runner.run(feed, out={"total": memory[10:20], "product": memory[30:40]})


def test_the_overlap_is_seen_through_strides(add: Runner) -> None:
    memory = np.zeros((8, 4), np.float32)
    refused(add, {"y": memory[6:8]}, "shares memory", {"x": memory[::-4]})
    memory = np.zeros((2, 8), np.float32)
    refused(add, {"y": memory.reshape(4, 4)[:2]}, "shares memory", {"x": memory[:, ::2]})


def test_text_and_exotic_outputs_are_refused(tmp_path: Path) -> None:
    runner = hotlap.open(tiny.save(tiny.text(), tmp_path / "m.onnx"))
    refused(runner, {"y": np.zeros(1, object)}, r"string\[N\] cannot be written in place", {"x": ["a"]})


def test_a_plain_runner_writes_too_by_a_copy(tmp_path: Path) -> None:
    built = tiny.model(
        [tiny.node("Identity", ["t"], ["u"]), tiny.node("Neg", ["x"], ["y"])],
        [tiny.info("t", T.STRING, ["N"]), tiny.info("x", T.FLOAT, ["N"])],
        [tiny.info("u", T.STRING, ["N"]), tiny.info("y", T.FLOAT, ["M"])],
    )
    runner = hotlap.open(tiny.save(built, tmp_path / "m.onnx"))
    assert runner.path == "plain"
    y, feed = np.zeros(2, np.float32), {"t": ["a", "b"], "x": np.ones(2, np.float32)}
    assert runner.run(feed, out={"y": y})["y"] is y and y.tolist() == [-1, -1]
    refused(runner, {"y": np.zeros(3, np.float32)}, r"got shape \[3\], the model gives \[2\]", feed)


def test_an_output_buffer_fits(add: Runner) -> None:
    for shape in ((2, 4), [2, 4], {"x": X}, {"x": [[1.0] * 4] * 2}):
        buffer = add.output_buffer("y", shape)  # type: ignore[arg-type]
        assert (buffer.shape, buffer.dtype) == ((2, 4), np.float32)
        add.run({"x": X}, out={"y": buffer})
    with pytest.raises(InputError, match="axis 1 has size 5, expected 4"):
        add.output_buffer("y", (2, 5))
    with pytest.raises(InputError, match='output "z": no such output'):
        add.output_buffer("z", (2, 4))


def test_a_shape_that_the_feed_does_not_tell_is_known_once_it_was_seen(tmp_path: Path) -> None:
    built = tiny.model(
        [tiny.node("Concat", ["x", "x"], ["y"], axis=0)],
        [tiny.info("x", T.FLOAT, ["N"])],
        [tiny.info("y", T.FLOAT, ["M"])],
    )
    runner = hotlap.open(tiny.save(built, tmp_path / "m.onnx"), warm=False)
    feed = {"x": np.ones(3, np.float32)}
    with pytest.raises(UsageError, match="the feed does not say how large that is; give the shape"):
        runner.output_buffer("y", feed)
    runner.run(feed)
    assert runner.output_buffer("y", feed).shape == (6,)


def test_a_wrong_shape_that_only_the_run_shows_is_named(tmp_path: Path) -> None:
    built = tiny.model(
        [tiny.node("NonZero", ["x"], ["y"])],
        [tiny.info("x", T.FLOAT, ["N"])],
        [tiny.info("y", T.INT64, [1, "k"])],
    )
    runner = hotlap.open(tiny.save(built, tmp_path / "m.onnx"), warm=False)
    x = np.ones(3, np.float32)
    refused(
        runner, {"y": np.zeros((1, 2), np.int64)}, r"got shape \[1, 2\], the model gives \[1, 3\]", {"x": x}
    )
    y = np.zeros((1, 3), np.int64)
    runner.run({"x": x}, out={"y": y})
    assert y.tolist() == [[0, 1, 2]]


def test_a_fake_writes_too() -> None:
    fake = FakeRunner([Y], [Y], answer=lambda feed: {"y": feed["y"] * 2})
    out = fake.output_buffer("y", {"y": X})
    assert fake.run({"y": X}, out={"y": out})["y"] is out and (out == 2).all()
    with pytest.raises(InputError, match=r"got shape \[3, 4\], the model gives \[2, 4\]"):
        fake.run({"y": X}, out={"y": np.zeros((3, 4), np.float32)})
    with pytest.raises(InputError, match="read-only"):
        fake.run({"y": X}, out={"y": LAYOUTS["read-only"](X)})


def test_symbols_are_filled_from_shapes() -> None:
    x = TensorSpec.of("x", "float32", ["N", 3, "M"])
    assert sizes_in([x], {"x": (2, 3, 5)}) == {"N": 2, "M": 5}
    assert follow(TensorSpec.of("y", "float32", ["M", "N", 7]), {"N": 2, "M": 5}) == (5, 2, 7)
    assert follow(TensorSpec.of("y", "float32", ["K"]), {"N": 2}) is None
    assert follow(TensorSpec("y", "tensor(float)", (), ranked=False), {}) is None
    assert follow(TensorSpec.of("y", "float32", []), {}) == ()
    with pytest.raises(UsageError, match="there is no buffer for that"):
        empty_array(TensorSpec.of("t", "string", ["N"]), (2,))


def test_every_problem_is_told_at_once() -> None:
    with pytest.raises(InputError) as caught:
        check_out([Y], {"y": np.zeros(3), "z": np.zeros(3)}, {}, {})
    assert len(caught.value.problems) == 2
