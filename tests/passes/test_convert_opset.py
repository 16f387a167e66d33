from __future__ import annotations

from pathlib import Path

import pytest
from onnx import TensorProto as T

from hotlap.errors import TargetFailed, UsageError
from hotlap.passes import face
from hotlap.passes.convert_opset import ConvertOpset
from hotlap.passes.draft import Draft
from hotlap.passes.step import apply
from tests import tiny
from tests.passes.asking import answers, assert_same, draft_of, ops, rng_feed
from tests.real import real

pytestmark = pytest.mark.usefixtures("here")


def reduced() -> object:
    """ReduceMean took its axes as an attribute before opset 18, and takes them as an input since."""
    return tiny.model(
        [tiny.node("ReduceMean", ["x"], ["y"], axes=[1], keepdims=1)],
        [tiny.info("x", T.FLOAT, ["N", 4])],
        [tiny.info("y", T.FLOAT, ["N", 1])],
    )


@pytest.mark.parametrize("version", [13, 18, 21])
def test_up_and_down(version: int, tmp_path: Path) -> None:
    draft = draft_of(reduced(), tmp_path)  # type: ignore[arg-type]
    made = apply(draft, [ConvertOpset(version)]).draft
    assert made.opset == version
    assert len(made.walk.root.nodes[-1].inputs) == (2 if version >= 18 else 1)
    assert face.differences(draft, made) == ""
    feed = rng_feed(x=(3, 4))
    assert_same(answers(draft, feed, tmp_path), answers(made, feed, tmp_path))
    assert apply(made, [ConvertOpset(version)]).draft is made


def test_where_no_conversion_exists_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(
        TargetFailed, match=r"no way to opset 11: onnx's converter has no step for \w+ of version \d+$"
    ):
        apply(draft_of(tiny.mlp(), tmp_path), [ConvertOpset(11)])


def test_what_it_does_not_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not look into the graphs inside"):
        apply(draft_of(tiny.branch(), tmp_path), [ConvertOpset(18)])
    with pytest.raises(UsageError, match="opsets are 1 to"):
        ConvertOpset(99)


def test_large_weights_never_pass_through_the_converter(tmp_path: Path) -> None:
    draft = Draft.load(tiny.mlp_external(tmp_path))
    made = apply(draft, [ConvertOpset(20)]).draft
    assert made.opset == 20 and sum(1 for _ in made.external()) == 4
    feed = rng_feed(x=(2, 16))
    assert_same(answers(draft, feed, tmp_path), answers(made, feed, tmp_path))


def test_a_real_model(tmp_path: Path) -> None:
    model = real("minilm-int8")
    draft = Draft.load(model.path)
    made = apply(draft, [ConvertOpset(19)]).draft
    assert (draft.opset, made.opset) == (17, 19)
    assert sorted(ops(made)).count("MatMul") == sorted(ops(draft)).count("MatMul")
    (feed,) = model.feeds(1)
    assert_same(answers(draft, feed, tmp_path), answers(made, feed, tmp_path))
