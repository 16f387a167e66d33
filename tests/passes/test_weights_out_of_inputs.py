from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from hotlap.passes import default_passes
from hotlap.passes.draft import Draft
from hotlap.passes.fuse import Fuse
from hotlap.passes.step import apply
from hotlap.passes.weights_out_of_inputs import WeightsOutOfInputs
from tests import tiny
from tests.passes.asking import answers, assert_same, draft_of, rng_feed
from tests.passes.overridable import dropout
from tests.real import real


def old(model: onnx.ModelProto, ir: int = 3) -> onnx.ModelProto:
    """The model as old exporters wrote it: every weight is an input as well."""
    for tensor in model.graph.initializer:
        model.graph.input.append(tiny.info(tensor.name, tensor.data_type, tensor.dims))
    model.ir_version = ir
    return model


def test_weights_go_and_the_ir_version_allows_it(tmp_path: Path) -> None:
    draft = draft_of(old(tiny.mlp()), tmp_path)
    applied = apply(draft, [WeightsOutOfInputs()])
    assert [v.name for v in applied.draft.proto.graph.input] == ["x"]
    assert applied.draft.proto.ir_version == 4
    assert applied.steps[0].notes[0].startswith("4 weights are no inputs any more")
    feed = rng_feed(x=(2, 16))
    assert_same(answers(draft, feed, tmp_path), answers(applied.draft, feed, tmp_path))


def test_one_weight_is_told_as_one(tmp_path: Path) -> None:
    applied = apply(draft_of(dropout(), tmp_path), [WeightsOutOfInputs()])
    said = "1 weight is no input any more; no caller can replace it from now on"
    assert applied.steps[0].notes == (said,)


def test_a_newer_version_stays(tmp_path: Path) -> None:
    draft = draft_of(old(tiny.mlp(), ir=9), tmp_path)
    assert apply(draft, [WeightsOutOfInputs()]).draft.proto.ir_version == 9


def test_nothing_to_do_is_the_same(tmp_path: Path) -> None:
    draft = draft_of(tiny.mlp(), tmp_path)
    assert apply(draft, [WeightsOutOfInputs()]).draft is draft


def test_a_real_model(tmp_path: Path) -> None:
    model = real("captcha")
    proto = old(onnx.load(model.path), ir=7)
    draft = draft_of(proto, tmp_path)
    mended = apply(draft, [WeightsOutOfInputs()]).draft
    assert len(draft.proto.graph.input) > 1 and len(mended.proto.graph.input) == 1
    (feed,) = model.feeds(1)
    assert_same(answers(Draft.load(model.path), feed, tmp_path), answers(mended, feed, tmp_path))


def scaled(ir: int) -> onnx.ModelProto:
    """y = x * (a + b), where a caller may give another a."""
    return old(
        tiny.model(
            [tiny.node("Add", ["a", "b"], ["s"]), tiny.node("Mul", ["x", "s"], ["y"])],
            [tiny.info("x", 1, ["N", 2])],
            [tiny.info("y", 1, ["N", 2])],
            {"a": np.ones(2, np.float32), "b": np.ones(2, np.float32)},
        ),
        ir,
    )


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("fused", [False, True])
def test_the_defaults_leave_optional_inputs_to_callers(fused: bool, tmp_path: Path) -> None:
    draft = draft_of(scaled(9), tmp_path)
    applied = apply(draft, [*default_passes(), *([Fuse()] if fused else [])], strict=False)
    assert [v.name for v in applied.draft.proto.graph.input] == ["x", "a", "b"]
    note = "left out: 2 weights are inputs that a caller may give; name this pass to take that away"
    assert applied.steps[0].notes == (note,)
    x = np.ones((1, 2), np.float32)
    (place := tmp_path / "out").mkdir()
    session = onnxruntime.InferenceSession(applied.draft.lay(place))
    np.testing.assert_array_equal(session.run(None, {"x": x, "a": 4 * x[0]})[0], 5 * x)


@pytest.mark.usefixtures("here")
def test_the_defaults_take_out_what_had_to_be_an_input(tmp_path: Path) -> None:
    applied = apply(draft_of(scaled(3), tmp_path), default_passes(), strict=False)
    assert applied.draft.input_names == ("x",) and len(applied.draft.proto.graph.input) == 1
