from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto as T

from hotlap.bench import Target, save_feeds
from hotlap.errors import HotlapError
from hotlap.verify.bisect_child import BisectRequest, bisect
from hotlap.verify.divergence import Walked
from tests import tiny


def request(tmp_path: Path, before: Path, after: Path | None, *xs: np.ndarray) -> BisectRequest:
    feeds = [{"x": x} for x in xs or [np.ones((2, 2), np.float32)]]
    return BisectRequest(
        reference=Target.default(before),
        candidate=None if after is None else Target.default(after),
        feeds=str(save_feeds(tmp_path / "feeds", feeds)),
        home=str(tmp_path / "home"),
        found="",
        outcome="",
    )


def with_default(op: str, weight: np.ndarray, name: Path) -> Path:
    """y = op(x, w), where w is a weight that is also an input: the caller may replace it, and seldom does."""
    ends = [tiny.info(v, T.FLOAT, [2, 2]) for v in ("x", "w")], [tiny.info("y", T.FLOAT, [2, 2])]
    return tiny.save(tiny.model([tiny.node(op, ["x", "w"], ["y"])], *ends, {"w": weight}), name)


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
