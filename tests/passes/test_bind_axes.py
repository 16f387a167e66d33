from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hotlap.errors import UsageError, VerificationFailed
from hotlap.passes.bind_axes import BindAxes
from hotlap.passes.draft import Draft
from hotlap.passes.fold import Fold
from hotlap.passes.step import apply
from tests import tiny
from tests.passes.asking import answers, assert_same, draft_of, rng_feed
from tests.passes.test_loading import lost_branch
from tests.real import real

pytestmark = pytest.mark.usefixtures("here")


def dims(value: Any) -> list[int | str]:
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


def test_a_symbol_wherever_it_stands(tmp_path: Path) -> None:
    draft = draft_of(tiny.gather_mask(), tmp_path)
    applied = apply(draft, [BindAxes({"B": 2})])
    graph = applied.draft.proto.graph
    assert [dims(v) for v in (*graph.input, *graph.output)] == [[2, "L"], [2, "L"], [2, "L", 8]]
    assert applied.steps[0].notes == ('"B" is 2, in 3 places',)


def test_a_place_means_its_symbol_and_an_axis_without_one_itself(tmp_path: Path) -> None:
    model = tiny.gather_mask()
    model.graph.input[1].type.tensor_type.shape.dim[1].ClearField("dim_param")
    draft = draft_of(model, tmp_path)
    graph = apply(draft, [BindAxes({"ids[1]": 7, "mask[1]": 7})]).draft.proto.graph
    assert [dims(v) for v in (*graph.input, *graph.output)] == [["B", 7], ["B", 7], ["B", 7, 8]]


def test_unknown_axes_and_other_sizes_are_refused(tmp_path: Path) -> None:
    draft = draft_of(tiny.mlp(), tmp_path)
    for sizes, told in (
        ({"bach": 1}, 'no input has an axis "bach".*did you mean "batch".*symbols: batch'),
        ({"x[1]": 8}, r"x\[1\] is fixed at 16"),
        ({"x[5]": 8}, 'input "x" has no axis 5'),
    ):
        with pytest.raises(UsageError, match=told):
            apply(draft, [BindAxes(sizes)])
    with pytest.raises(UsageError, match="a size is 1 to 2,147,483,647"):
        BindAxes({"batch": 0})
    with pytest.raises(UsageError, match="AXIS=SIZE"):
        BindAxes({})


def test_bound_twice_changes_nothing(tmp_path: Path) -> None:
    draft = draft_of(tiny.mlp(), tmp_path)
    assert apply(draft, [BindAxes({"x[1]": 16})]).draft is draft


def test_what_hangs_on_sizes_is_folded_afterwards(tmp_path: Path) -> None:
    model = real("minilm")
    draft = Draft.load(model.path)
    sizes = {"batch_size": 1, "sequence_length": int(model.feeds(1)[0]["input_ids"].shape[1])}
    free = apply(draft, [Fold()]).draft
    bound = apply(draft, [BindAxes(sizes), Fold()]).draft
    assert bound.node_count() < free.node_count() < draft.node_count()
    (feed,) = model.feeds(1)
    before, after = answers(draft, feed, tmp_path), answers(bound, feed, tmp_path)
    assert_same(before, after, 1e-4)


def test_the_bound_size_is_the_only_one_left(tmp_path: Path) -> None:
    bound = apply(draft_of(tiny.mlp(), tmp_path), [BindAxes({"batch": 2})]).draft
    assert answers(bound, rng_feed(x=(2, 16)), tmp_path)["y"].shape == (2, 4)
    with pytest.raises(Exception, match="index: 0 Got: 3 Expected: 2"):
        answers(bound, rng_feed(x=(3, 16)), tmp_path)


def test_axes_without_a_name_are_bound_one_by_one(tmp_path: Path) -> None:
    """Paddle calls every such axis "?"."""
    model = tiny.add()
    for value in (*model.graph.input, *model.graph.output):
        shape = value.type.tensor_type.shape
        shape.dim[0].dim_param = "?"
        shape.dim[1].ClearField("dim_value")
        shape.dim[1].dim_param = "?"
    applied = apply(draft_of(model, tmp_path), [BindAxes({"x[0]": 2})])
    dims = applied.draft.proto.graph.input[0].type.tensor_type.shape.dim
    assert applied.steps[0].notes == ("x[0] is 2",)
    assert (dims[0].dim_value, dims[1].dim_param) == (2, "?")
    with pytest.raises(UsageError, match='no input has an axis "\\?"'):
        apply(draft_of(model, tmp_path), [BindAxes({"?": 2})])


def test_sizes_that_a_branch_does_not_fit_are_refused(tmp_path: Path) -> None:
    draft = draft_of(lost_branch("n"), tmp_path)
    assert apply(draft, [BindAxes({"n": 4})]).steps[0].changed
    told = (
        r"^bind-axes: a part of the model does not fit these sizes, so ONNX Runtime does not load it: Node "
    )
    with pytest.raises(VerificationFailed, match=f"{told}.*Incompatible dimensions"):
        apply(draft, [BindAxes({"n": 2})])


def test_what_did_not_load_before_is_not_laid_to_the_sizes(tmp_path: Path) -> None:
    draft = draft_of(tiny.unknown_operator(), tmp_path)
    (axis,) = draft.proto.graph.input[0].type.tensor_type.shape.dim[:1]
    assert apply(draft, [BindAxes({axis.dim_param: 2})]).steps[0].changed


def test_a_real_model_with_a_branch_that_its_own_inputs_do_not_fit(tmp_path: Path) -> None:
    model = real("silero")  # its branch for the other sample rate takes fewer samples
    sizes = {"input[0]": 1, "input[1]": 576, "state[1]": 1}
    with pytest.raises(VerificationFailed, match=r"bind-axes: .*LSTM\) Op \(LSTM\).*must have rank 3"):
        apply(Draft.load(model.path), [BindAxes(sizes)])
