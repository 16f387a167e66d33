from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hotlap.passes import shapes
from hotlap.passes.draft import Draft
from tests import tiny
from tests.passes.asking import draft_of
from tests.passes.overridable import dropout

pytestmark = pytest.mark.usefixtures("here")


def test_what_follows_from_the_inputs_is_found_and_claims_are_not_believed(tmp_path: Path) -> None:
    model = tiny.mlp()
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 99
    found = shapes.infer(draft_of(model, tmp_path)).graph
    told = {
        v.name: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim]
        for v in (*found.value_info, *found.output)
    }
    assert told == {"h": ["batch", 32], "r": ["batch", 32], "y": ["batch", 4]}


def test_large_weights_are_set_aside_and_put_back(tmp_path: Path) -> None:
    draft = draft_of(tiny.mlp(hidden=256), tmp_path)
    proto = draft.copy()
    aside = shapes.set_aside(proto, shapes.large)
    assert [t.name for t in aside] == ["w1"]
    assert [v.name for v in proto.graph.input] == ["x", "w1"]
    shapes.put_back(proto, aside, frozenset({"x"}))
    assert [v.name for v in proto.graph.input] == ["x"]
    assert {t.name: list(t.dims) for t in proto.graph.initializer} == {
        t.name: list(t.dims) for t in draft.proto.graph.initializer
    }


def test_those_in_files_alone(tmp_path: Path) -> None:
    draft = Draft.load(tiny.mlp_external(tmp_path))
    proto = draft.copy()
    proto.graph.initializer.append(_big())
    assert len(shapes.set_aside(proto, shapes.outside)) == 4


@pytest.mark.parametrize(("ir", "taken"), [(3, []), (4, ["ratio"]), (9, ["ratio"])])
def test_those_that_a_caller_may_replace(ir: int, taken: list[str], tmp_path: Path) -> None:
    model = dropout()
    model.ir_version = ir
    draft = draft_of(model, tmp_path)
    proto = draft.copy()
    aside = shapes.set_aside(proto)
    assert [t.name for t in aside] == taken
    assert [v.name for v in proto.graph.input] == ["x", "ratio"]
    shapes.put_back(proto, aside, frozenset({"x", "ratio"}))
    assert proto == draft.proto


def _big() -> object:
    import onnx

    return onnx.numpy_helper.from_array(np.zeros(4096, np.float32), "big")
