from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import hotlap
from hotlap.runtime import Runner, signature
from hotlap.runtime.check import Input, Output
from hotlap.runtime.signature import SMALL_INPUT, SMALL_OUTPUT
from tests import tiny

T = onnx.TensorProto


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[str], list[str]]]:
    """For each signature that is bound: by which way, and the kinds of its inputs and outputs."""
    seen: list[tuple[str, list[str], list[str]]] = []
    bound, direct = signature.call_for, signature.direct_call_for

    def call_for(b: Any, r: Any, o: Any, w: Any, inputs: list[Input], outputs: list[Output]) -> Any:
        seen.append(("bound", [i.kind for i in inputs], [out.kind for out in outputs]))
        return bound(b, r, o, w, inputs, outputs)

    def direct_call_for(run: Any, options: Any, inputs: list[Input], names: list[str]) -> Any:
        seen.append(("direct", [i.kind for i in inputs], names))
        return direct(run, options, inputs, names)

    monkeypatch.setattr(signature, "call_for", call_for)
    monkeypatch.setattr(signature, "direct_call_for", direct_call_for)
    return seen


def opened(tmp_path: Path, nodes: list[Any], inputs: list[Any], outputs: list[Any], **weights: Any) -> Runner:
    path = tiny.save(tiny.model(nodes, inputs, outputs, weights), tmp_path / "m.onnx")
    return hotlap.open(path, threads=1, warm=False)


def twice(runner: Runner, **feed: Any) -> dict[str, Any]:
    runner.run(feed)
    runner.run(feed)
    return runner.run(feed)


def test_the_size_decides(tmp_path: Path, made: list[Any]) -> None:
    runner = hotlap.open(tiny.save(tiny.add(), tmp_path / "m.onnx"), threads=1, warm=False)
    for rows in (0, 1, SMALL_INPUT // 16):
        twice(runner, x=np.ones((rows, 4), np.float32))
    assert made == [("bound", ["copy"], ["copy"])] * 3
    made.clear()
    twice(runner, x=np.ones((SMALL_INPUT // 16 + 1, 4), np.float32))
    assert made == [("direct", ["wrap"], ["y"])], "nothing to gain from a binding"


def test_a_large_input_beside_small_ones(tmp_path: Path, made: list[Any]) -> None:
    names = [f"x{n}" for n in range(4)]
    big = tiny.info("big", T.FLOAT, ["N"])
    runner = opened(
        tmp_path,
        [tiny.node("ReduceSum", ["big"], ["s"], keepdims=0), tiny.node("Sum", [*names, "s"], ["y"])],
        [big, *(tiny.info(n, T.FLOAT, [2]) for n in names)],
        [tiny.info("y", T.FLOAT, [2])],
    )
    x = np.ones(100_000, np.float32)
    assert twice(runner, big=x, **{n: np.ones(2, np.float32) for n in names})["y"].tolist() == [100_004] * 2
    assert made == [("bound", ["wrap", *["copy"] * 4], ["copy"])]


def test_a_large_output_is_ort_s_memory_and_a_lent_one_is_kept(tmp_path: Path, made: list[Any]) -> None:
    names = [f"x{n}" for n in range(4)]
    runner = opened(
        tmp_path,
        [tiny.node("Sum", names, ["s"]), tiny.node("Expand", ["s", "shape"], ["y"])],
        [tiny.info(n, T.FLOAT, [1]) for n in names],
        [tiny.info("y", T.FLOAT, [SMALL_OUTPUT])],
        shape=np.array([SMALL_OUTPUT]),
    )
    feed = {n: np.ones(1, np.float32) for n in names}
    kept = [twice(runner, **feed)["y"], runner.run(feed)["y"]]
    assert made == [("bound", ["copy"] * 4, ["alloc"])]
    assert not np.shares_memory(*kept) and (kept[0] == 4).all()
    with runner.borrow(feed) as lent:
        assert (lent["y"] == 4).all()
    assert made[1:] == [("bound", ["copy"] * 4, ["view"])]


def test_nothing_is_copied_of_a_large_array(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"x{n}" for n in range(4)]
    runner = opened(
        tmp_path,
        [tiny.node("ReduceSum", ["big"], ["s"], keepdims=0), tiny.node("Sum", [*names, "s"], ["y"])],
        [tiny.info("big", T.FLOAT, ["N"]), *(tiny.info(n, T.FLOAT, [2]) for n in names)],
        [tiny.info("y", T.FLOAT, [2])],
    )
    binding_type = type(runner.session.io_binding())
    original = binding_type.bind_ortvalue_input
    bound: list[tuple[str, int]] = []

    def record(self: Any, name: str, value: Any) -> None:
        bound.append((name, value.data_ptr()))
        original(self, name, value)

    monkeypatch.setattr(binding_type, "bind_ortvalue_input", record)
    feed = {n: np.ones(2, np.float32) for n in names}
    for _ in range(4):
        x = np.ones(100_000, np.float32)
        bound.clear()
        runner.run({"big": x, **feed})
    assert ("big", x.ctypes.data) in bound


def test_an_input_buffer_is_read_where_it_lies(tmp_path: Path, made: list[Any]) -> None:
    runner = hotlap.open(tiny.save(tiny.add_pair(), tmp_path / "m.onnx"), threads=1)
    a = runner.input_buffer("a", (1, 4))
    assert (a.shape, a.dtype) == ((1, 4), np.float32)
    for n in range(1, 6):
        a[...] = n
        b = np.full((1, 4), 10, np.float32)
        assert runner.run({"a": a, "b": b})["c"].tolist() == [[10 + n] * 4]
        other = np.full((1, 4), 50, np.float32)
        assert runner.run({"a": other, "b": b})["c"].tolist() == [[60] * 4]
        assert (a == n).all(), "nobody else's values come into it"
    assert [m[1] for m in made] == [["own", "copy"], ["copy", "copy"]]
    a.shape = (2, 2)
    assert runner.run({"a": a, "b": np.ones((2, 2), np.float32)})["c"].shape == (2, 2)


def test_an_input_buffer_that_was_dropped_is_nothing_special(tmp_path: Path) -> None:
    runner = hotlap.open(tiny.save(tiny.add(), tmp_path / "m.onnx"), threads=1)
    for n in range(200):
        x = runner.input_buffer("x", (1, 4))
        x[...] = n
        assert runner(x)[0, 0] == 2 * n
        del x
        assert runner(np.full((1, 4), n + 1, np.float32))[0, 0] == 2 * n + 2
