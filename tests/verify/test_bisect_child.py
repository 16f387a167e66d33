from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto as T

from hotlap.bench import Target, save_feeds
from hotlap.errors import HotlapError
from hotlap.verify.bisect_child import FIRST, MOST, BisectRequest, _Chunks, bisect
from hotlap.verify.divergence import Walked
from tests import tiny


def request(tmp_path: Path, before: Path, after: Path | None) -> BisectRequest:
    feeds = [{"x": np.ones((2, 2), np.float32)}]
    return BisectRequest(
        reference=Target.default(before),
        candidate=None if after is None else Target.default(after),
        feeds=str(save_feeds(tmp_path / "feeds", feeds)),
        home=str(tmp_path / "home"),
        found="",
        outcome="",
    )


def test_as_many_values_are_looked_at_together_as_fit() -> None:
    chunks = _Chunks(range(500))
    sizes = []
    for chunk in chunks:
        sizes.append(len(chunk))
        chunks.took([{("", str(n)): np.zeros(1 << 20, np.uint8) for n in chunk}])
    assert sizes[0] == FIRST and set(sizes[1:-1]) == {MOST} and sum(sizes) == 500 and max(sizes) <= MOST


def test_large_values_are_looked_at_two_at_a_time() -> None:
    chunks = _Chunks(range(30))
    sizes = []
    big = np.broadcast_to(np.uint8(0), (1 << 30,))  # its size is counted, nothing lies in memory
    for chunk in chunks:
        sizes.append(len(chunk))
        chunks.took([{("", str(n)): big for n in chunk}])
    assert sizes == [FIRST, 2, 2, 2, 2, 2, 2, 2]


def test_sequences_have_no_one_form_and_are_left_out(tmp_path: Path) -> None:
    nodes = [
        tiny.node("SplitToSequence", ["x"], ["parts"], axis=0),
        tiny.node("ConcatFromSequence", ["parts"], ["y"], axis=0),
    ]
    values = [tiny.info(name, T.FLOAT, ["N", 2]) for name in ("x", "y")]
    path = tiny.save(tiny.model(nodes, values[:1], values[1:]), tmp_path / "s.onnx")
    walked = bisect(request(tmp_path, path, path))
    assert walked.found is None and (walked.compared, walked.values) == (1, 2)


def test_what_is_said_of_a_value_that_was_not_compared(tmp_path: Path) -> None:
    """One side makes a value that the other has not; a sequence is on both, and has no one form."""

    def made(name: str, factor: float, part: str) -> Path:
        nodes = [
            tiny.node("Mul", ["x", "two"], [part]),
            tiny.node("SplitToSequence", [part], ["parts"], axis=0, keepdims=1),
            tiny.node("ConcatFromSequence", ["parts"], ["whole"], axis=0),
            tiny.node("Add", ["whole", part], ["y"]),
        ]
        values = [tiny.info(v, T.FLOAT, ["N", 2]) for v in ("x", "y")]
        built = tiny.model(nodes, values[:1], values[1:], {"two": np.float32(factor)})
        return tiny.save(built, tmp_path / name)

    found = bisect(request(tmp_path, made("a.onnx", 2, "p"), made("b.onnx", 3, "q"))).found
    assert found is not None and found.value == "whole"
    assert [(seen.agrees, seen.said) for seen in found.inputs] == [(None, "not looked at: no array")]


def test_a_value_that_cannot_be_led_out_is_skipped_and_the_others_are_not(tmp_path: Path) -> None:
    """Text becomes no float64 on its way out of a branch."""
    graph = tiny.branch()
    for attribute in graph.graph.node[2].attribute:
        attribute.g.node.insert(
            0, tiny.node("Constant", [], [f"{attribute.name}_text"], value_string=b"no number")
        )
    path = tiny.save(graph, tmp_path / "m.onnx")
    feeds = save_feeds(tmp_path / "feeds", [{"x": np.ones(2, np.float32)}])
    target = Target.default(path)
    asked = BisectRequest(
        reference=target, candidate=target, feeds=str(feeds), home=str(tmp_path), found="", outcome=""
    )
    walked = bisect(asked)
    assert walked.found is None
    assert walked.skipped == ("then_branch_text",), "the other branch was not taken"
    assert walked.compared == walked.values - 1


def with_default(op: str, weight: np.ndarray, name: Path) -> Path:
    """y = op(x, w), where w is a weight that is also an input: the caller may replace it, and seldom does."""
    ends = [tiny.info(v, T.FLOAT, [2, 2]) for v in ("x", "w")], [tiny.info("y", T.FLOAT, [2, 2])]
    return tiny.save(tiny.model([tiny.node(op, ["x", "w"], ["y"])], *ends, {"w": weight}), name)


def test_a_weight_that_is_also_an_input_is_a_weight(tmp_path: Path) -> None:
    ones = np.ones((2, 2), np.float32)
    one, two = (with_default("Mul", n * ones, tmp_path / f"{n}.onnx") for n in (1, 2))
    found = bisect(request(tmp_path, one, two)).found
    assert found is not None
    assert [seen.agrees for seen in found.inputs] == [True, False]
    assert found.inputs[1].said.startswith("a weight: 4 of 4 values differ")
    odd = with_default("Mul", np.array([[1, np.nan], [1, 1]], np.float32), tmp_path / "odd.onnx")
    found = bisect(request(tmp_path, odd, None)).found
    assert found is not None
    assert [seen.agrees for seen in found.inputs] == [True, False]
    assert found.inputs[1].said.startswith("a weight: 1 of 4 values not finite")


def test_masks_are_no_cause(tmp_path: Path) -> None:
    """-infinity is meant; the place that is told is that of the first NaN."""
    nodes = [tiny.node("Mul", ["x", "w"], ["y"])]
    ends = [tiny.info("x", T.FLOAT, [2, 2])], [tiny.info("y", T.FLOAT, [2, 2])]
    mask = np.array([[1, -np.inf], [np.nan, 1]], np.float32)
    path = tiny.save(tiny.model(nodes, *ends, {"w": mask}), tmp_path / "m.onnx")
    found = bisect(request(tmp_path, path, None)).found
    assert found is not None and (found.place, found.after) == ("[1, 0]", "nan")


def test_inputs_that_a_side_does_not_take_are_left_out(tmp_path: Path) -> None:
    plain, wrong = (tiny.save(tiny.mlp(seed=n), tmp_path / f"{n}.onnx") for n in (0, 1))
    fixed = tiny.mlp(seed=1)
    fixed.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    single = tiny.save(fixed, tmp_path / "single.onnx")
    for other, sizes, refused, where in (
        (single, (3, 1), (0,), 1),
        (single, (3, 2), (0, 1), None),
        (wrong, (3, 1), (), 0),
    ):
        asked = request(tmp_path, plain, other)
        feeds = [{"x": np.ones((size, 16), np.float32)} for size in sizes]
        save_feeds(Path(asked.feeds), feeds)
        walked = bisect(asked)
        assert walked.refused == refused and walked.values == 3
        assert ("axis 0 has size" in walked.why_refused) == bool(refused)
        if where is None:
            assert walked.found is None and walked.compared == 0
        else:
            assert walked.found is not None and walked.found.input == where


def test_a_file_that_is_no_model_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "bad.onnx").write_bytes(b"no")
    good = tiny.save(tiny.add(), tmp_path / "good.onnx")
    with pytest.raises(HotlapError, match=r"bad\.onnx"):
        bisect(request(tmp_path, good, tmp_path / "bad.onnx"))


def test_what_it_says_can_be_saved() -> None:
    import msgspec

    walked = Walked(found=None, compared=1, values=2)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(walked), type=Walked) == walked
