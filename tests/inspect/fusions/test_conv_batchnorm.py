from __future__ import annotations

import numpy as np
import onnx
import pytest

from hotlap.inspect.fusions import conv_batchnorm
from tests import tiny
from tests.inspect.fusions import graphs
from tests.inspect.fusions.graphs import Parts, kinds, look, ops

WHOLE = graphs.conv_batchnorm()
STEP, TARGET = graphs.reshape("c", 0, 16, -1)

BLOCKED = {
    "second reader": WHOLE.read("c"),
    "graph output in between": WHOLE.out("c"),
    "non-constant weight": WHOLE.overridable("scale"),
    "shape operator in between": WHOLE.between("c", "bn", STEP, **TARGET),
}


@pytest.mark.parametrize("level", ["ALL", "EXTENDED"])
@pytest.mark.parametrize("kind", BLOCKED)
def test_the_blocker_is_named(kind: str, level: str) -> None:
    found = look(conv_batchnorm, BLOCKED[kind].model(), level)
    assert kinds(found) == [kind]
    assert found[0].node.label == 'Conv "conv"'
    assert found[0].pattern == 'Conv "conv" and BatchNormalization "bn"'


@pytest.mark.parametrize("level", ["ALL", "EXTENDED"])
def test_without_a_blocker_it_is_fused_and_nothing_is_found(level: str) -> None:
    assert ops(WHOLE.model(), level)["BatchNormalization"] == 0
    assert look(conv_batchnorm, WHOLE.model(), level) == []


@pytest.mark.parametrize("weight", ["k", "bias", "mean", "var"])
def test_any_weight_that_a_caller_may_replace_blocks(weight: str) -> None:
    (found,) = look(conv_batchnorm, WHOLE.overridable(weight).model())
    assert found.blockers[0].value == weight
    assert found.blockers[0].why == f'"{weight}" is a weight and an input, so a caller may replace it'
    assert "--fix HL404" in found.blockers[0].mend


def test_a_weight_that_must_be_given_or_is_computed_blocks() -> None:
    (given,) = look(conv_batchnorm, WHOLE.asked("k").model())
    assert given.blockers[0].why == '"k" is an input'
    doubled = tiny.node("Add", ["k", "k"], ["k_"], name="twice")
    (computed,) = look(conv_batchnorm, WHOLE.asked("k").between("k", "conv", doubled).model())
    assert computed.blockers[0].why == '"k_" is computed by Add "twice"'


def test_weights_that_can_be_computed_at_load_do_not_block() -> None:
    folded = WHOLE.between("k", "conv", tiny.node("Neg", ["k"], ["k_"]))
    assert look(conv_batchnorm, folded.model()) == []


def test_statistics_of_another_type_block_and_equal_types_do_not() -> None:
    mixed = WHOLE.of(np.float16).model()
    for weight in mixed.graph.initializer:
        if weight.name in ("mean", "var"):
            as_float = onnx.numpy_helper.to_array(weight).astype(np.float32)
            weight.CopyFrom(onnx.numpy_helper.from_array(as_float, weight.name))
    (found,) = look(conv_batchnorm, mixed)
    assert [b.kind for b in found.blockers] == ["wrong dtype"]
    assert found.blockers[0].why.endswith("a mix of float16 and float32")
    assert look(conv_batchnorm, WHOLE.of(np.float16).model()) == []


def test_what_ort_leaves_alone_anyway_is_not_told() -> None:
    relu = WHOLE.between("c", "bn", tiny.node("Relu", ["c"], ["c_"]))
    assert look(conv_batchnorm, relu.model()) == []
    mixing, target = graphs.reshape("c", -1, 16, 4, 4)
    assert look(conv_batchnorm, WHOLE.between("c", "bn", mixing, **target).model()) == []
    training: Parts = WHOLE.changed(
        "bn",
        lambda n: tiny.node("BatchNormalization", list(n.input), ["y", "m", "v"], name="bn", training_mode=1),
    )
    assert look(conv_batchnorm, training.model()) == []
