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


def test_a_file_that_is_no_model_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "bad.onnx").write_bytes(b"no")
    good = tiny.save(tiny.add(), tmp_path / "good.onnx")
    with pytest.raises(HotlapError, match=r"bad\.onnx"):
        bisect(request(tmp_path, good, tmp_path / "bad.onnx"))


def test_what_it_says_can_be_saved() -> None:
    import msgspec

    walked = Walked(found=None, compared=1, values=2)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(walked), type=Walked) == walked
