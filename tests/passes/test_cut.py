from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from hotlap.errors import UsageError
from hotlap.passes.cut import Cut
from hotlap.passes.draft import Draft, Origin
from hotlap.passes.step import apply
from tests import tiny
from tests.passes.asking import answers, draft_of, ops, rng_feed
from tests.real import real

pytestmark = pytest.mark.usefixtures("here")


def test_to_one_of_two_outputs(tmp_path: Path) -> None:
    draft = draft_of(tiny.two_outputs(), tmp_path)
    applied = apply(draft, [Cut(("product",))])
    assert ops(applied.draft) == ["Mul"]
    assert applied.draft.output_names == ("product",) and applied.draft.input_names == ("a", "b")
    assert applied.steps[0].notes[0] == "outputs kept: product; dropped: total"
    feed = rng_feed(a=(3,), b=(3,))
    expected = answers(draft, feed, tmp_path)["product"]
    np.testing.assert_array_equal(answers(applied.draft, feed, tmp_path)["product"], expected)


def test_to_a_value_inside_with_its_type_and_its_axes(tmp_path: Path) -> None:
    draft = draft_of(tiny.mlp(), tmp_path)
    cut = apply(draft, [Cut(("r",))]).draft
    assert ops(cut) == ["Gemm", "Relu"] and len(cut.weights) == 2
    assert cut.outputs == {"r": Origin("r")}
    dims = cut.proto.graph.output[0].type.tensor_type.shape.dim
    assert [d.dim_param or d.dim_value for d in dims] == ["batch", 32]
    feed = rng_feed(x=(2, 16))
    assert answers(cut, feed, tmp_path)["r"].shape == (2, 32)
    onnx.checker.check_model(cut.proto, full_check=True)


def test_inputs_stay_unless_they_may_go(tmp_path: Path) -> None:
    model = tiny.two_outputs()
    model.graph.node[1].input[:] = ["a", "a"]
    draft = draft_of(model, tmp_path)
    assert apply(draft, [Cut(("product",))]).draft.input_names == ("a", "b")
    dropped = apply(draft, [Cut(("product",), "drop")]).draft
    assert dropped.input_names == ("a",) and dropped.dropped_inputs == {"b"}


def test_without_outputs_it_sweeps_what_leads_nowhere(tmp_path: Path) -> None:
    model = tiny.unused_weight()
    model.graph.node.append(tiny.node("Neg", ["x"], ["nowhere"]))
    applied = apply(draft_of(model, tmp_path), [Cut()])
    assert ops(applied.draft) == ["Add"] and not applied.draft.weights
    assert apply(applied.draft, [Cut()]).draft is applied.draft


@pytest.mark.parametrize(("name", "kind"), [("x", "an input"), ("w1", "a weight")])
def test_what_no_node_makes_is_no_output(name: str, kind: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f'cut: "{name}" is {kind}, and no node makes it'):
        apply(draft_of(tiny.mlp(), tmp_path), [Cut((name,))])


def test_an_input_that_is_an_output_already_may_stay_one(tmp_path: Path) -> None:
    model = tiny.add()
    model.graph.output.append(model.graph.input[0])
    draft = draft_of(model, tmp_path)
    assert apply(draft, [Cut(("x",))]).draft.output_names == ("x",)


def test_an_unknown_output_is_an_error_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r'no value "totl".*did you mean "total".*outputs are total, product'
    ):
        apply(draft_of(tiny.two_outputs(), tmp_path), [Cut(("totl",))])
    with pytest.raises(UsageError, match="each once"):
        Cut(("a", "a"))
    with pytest.raises(UsageError, match='"keep" or "drop"'):
        Cut(None, "all")


def test_a_real_model(tmp_path: Path) -> None:
    model = real("minilm")
    draft = Draft.load(model.path)
    assert draft.output_names == ("output", "463", "onnx::Shape_422", "461")
    cut = apply(draft, [Cut(("onnx::Shape_422",))]).draft
    assert cut.node_count() < draft.node_count()
    (feed,) = model.feeds(1)
    expected = answers(draft, feed, tmp_path)["onnx::Shape_422"]
    got = answers(cut, feed, tmp_path)
    assert list(got) == ["onnx::Shape_422"]
    np.testing.assert_allclose(got["onnx::Shape_422"], expected, rtol=1e-5, atol=1e-6)
