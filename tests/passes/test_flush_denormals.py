from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx

from hotlap.passes.draft import Draft
from hotlap.passes.flush_denormals import FlushDenormals
from hotlap.passes.step import apply
from tests import tiny
from tests.passes.asking import answers, assert_same, draft_of, rng_feed
from tests.real import real


def poisoned(model: onnx.ModelProto, names: tuple[str, ...], value: float = 1e-39) -> onnx.ModelProto:
    """The model with every third element of some weights made denormal."""
    for tensor in model.graph.initializer:
        if tensor.name in names:
            values = onnx.numpy_helper.to_array(tensor).copy()
            values.reshape(-1)[::3] = value
            tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))
    return model


def test_denormals_become_zero_and_the_rest_stays(tmp_path: Path) -> None:
    draft = draft_of(poisoned(tiny.mlp(), ("w1",)), tmp_path)
    applied = apply(draft, [FlushDenormals()])
    before, after = (
        {t.name: onnx.numpy_helper.to_array(t) for t in d.proto.graph.initializer}
        for d in (draft, applied.draft)
    )
    assert applied.steps[0].notes == ('weight "w1": 171 of 512 elements became 0',)
    assert (after["w1"].reshape(-1)[::3] == 0).all()
    kept = np.ones(512, bool)
    kept[::3] = False
    np.testing.assert_array_equal(after["w1"].reshape(-1)[kept], before["w1"].reshape(-1)[kept])
    feed = rng_feed(x=(2, 16))
    assert_same(answers(draft, feed, tmp_path), answers(applied.draft, feed, tmp_path))


def test_the_smallest_normal_number_half_precision_and_zeros_stay(tmp_path: Path) -> None:
    smallest = float(np.finfo(np.float32).smallest_normal)
    draft = draft_of(poisoned(tiny.mlp(), ("w1",), smallest), tmp_path)
    assert apply(draft, [FlushDenormals()]).draft is draft
    half = tiny.model(
        [tiny.node("Add", ["x", "w"], ["y"])],
        [tiny.info("x", 10, [2])],
        [tiny.info("y", 10, [2])],
        {"w": np.array([1e-7, 0], np.float16)},
    )
    draft = draft_of(half, tmp_path)
    assert apply(draft, [FlushDenormals()]).draft is draft


def test_weights_in_a_file_beside_the_model(tmp_path: Path) -> None:
    path = tiny.mlp_external(tmp_path)
    data = np.fromfile(tmp_path / "model.onnx.data", np.float32)
    data[::5] = 1e-40
    data.tofile(tmp_path / "model.onnx.data")
    draft = Draft.load(path)
    flushed = apply(draft, [FlushDenormals()])
    assert flushed.steps[0].notes[0] == 'weight "w1": 103 of 512 elements became 0'
    # They stay in a file: drawn into the graph, large ones would break protobuf's limit of 2 GiB.
    assert len(list(flushed.draft.external())) == len(list(draft.external())) == 4
    assert (tmp_path / "model.onnx.data").read_bytes() == data.tobytes()
    assert apply(flushed.draft, [FlushDenormals()]).draft is flushed.draft
    feed = rng_feed(x=(2, 16))
    assert_same(answers(draft, feed, tmp_path), answers(flushed.draft, feed, tmp_path))


def test_constants_inside_of_nodes(tmp_path: Path) -> None:
    tensor = onnx.numpy_helper.from_array(np.array([1e-39, 1], np.float32))
    model = tiny.model(
        [tiny.node("Constant", [], ["w"], value=tensor), tiny.node("Add", ["x", "w"], ["y"])],
        [tiny.info("x", 1, [2])],
        [tiny.info("y", 1, [2])],
    )
    flushed = apply(draft_of(model, tmp_path), [FlushDenormals()]).draft
    np.testing.assert_array_equal(
        onnx.numpy_helper.to_array(flushed.proto.graph.node[0].attribute[0].t), np.array([0, 1], np.float32)
    )


def test_a_real_model(tmp_path: Path) -> None:
    model = real("captcha")
    proto = onnx.load(model.path)
    weights = [t.name for t in proto.graph.initializer if t.data_type == 1 and len(t.dims) == 4][:3]
    draft = draft_of(poisoned(proto, tuple(weights)), tmp_path)
    applied = apply(draft, [FlushDenormals()])
    assert len(applied.steps[0].notes) == len(weights) == 3
    (feed,) = model.feeds(1)
    assert_same(answers(draft, feed, tmp_path), answers(applied.draft, feed, tmp_path))
