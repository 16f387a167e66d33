from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hotlap.inspect.fusions import skip_layer_norm
from tests import tiny
from tests.inspect.fusions import graphs
from tests.inspect.fusions.graphs import Shape, kinds, look, ops

WHOLE = graphs.skip_layer_norm()
STEP, TARGET = graphs.reshape("a", -1, 8)

BLOCKED = {
    "second reader": WHOLE.read("a"),
    "graph output in between": WHOLE.out("a"),
    "wrong dtype": WHOLE.of(np.float16),
    "shape operator in between": WHOLE.between("a", "norm", STEP, **TARGET),
}


@pytest.mark.parametrize("kind", BLOCKED)
def test_the_blocker_is_named(kind: str) -> None:
    found = look(skip_layer_norm, BLOCKED[kind].model())
    assert kinds(found) == [kind]
    assert found[0].pattern == 'Add "add" and the layer normalisation "y"'


@pytest.mark.parametrize("sizes", [("b", "s", 8), ("b", 4, 8), (2, 4, 8)])
def test_without_a_blocker_it_is_fused_and_nothing_is_found(sizes: Shape) -> None:
    whole = replace(WHOLE, inputs={"p": sizes, "q": sizes})
    assert ops(whole.model()) == {"SkipLayerNormalization": 1}
    assert look(skip_layer_norm, whole.model()) == []


def test_double_precision_blocks() -> None:
    (found,) = look(skip_layer_norm, WHOLE.of(np.float64).model())
    assert found.blockers[0].why == "it is float64, the fused operator takes float32"


def test_one_that_is_written_out_is_looked_at_as_well() -> None:
    written = replace(
        WHOLE,
        nodes=(WHOLE.nodes[0], *graphs.layer_norm_nodes("a", "y")),
        weights=graphs.norm_weights(),
        opset=13,
    )
    assert look(skip_layer_norm, written.model()) == []
    assert kinds(look(skip_layer_norm, written.out("a").model())) == ["graph output in between"]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (("b", 8), ("b", 8)),
        (("b", 4, 4, 8), ("b", 4, 4, 8)),
        (("b", 4, 8), (4, 8)),
        (("b", 4, 8), (1, 4, 8)),
        (("b", "s", 8), ("b", "t", 8)),
    ],
)
def test_shapes_that_ort_does_not_fuse_are_not_told(left: Shape, right: Shape) -> None:
    whole = replace(WHOLE, inputs={"p": left, "q": right})
    assert ops(whole.model())["SkipLayerNormalization"] == 0
    assert look(skip_layer_norm, whole.out("a").model()) == []


def test_a_normalisation_over_two_axes_is_not_told() -> None:
    wide = replace(
        WHOLE.changed(
            "norm", lambda n: tiny.node("LayerNormalization", list(n.input), ["y"], name="norm", axis=1)
        ),
        inputs={"p": ("b", 4, 8), "q": ("b", 4, 8)},
        weights={"g": graphs.normal(4, 8), "be": graphs.normal(4, 8)},
    )
    assert ops(wide.model())["SkipLayerNormalization"] == 0
    assert look(skip_layer_norm, wide.out("a").model()) == []
