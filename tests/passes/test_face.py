from __future__ import annotations

from pathlib import Path

import pytest

from hotlap.errors import ModelError
from hotlap.passes import face
from tests import tiny
from tests.passes.asking import draft_of


def test_declarations_come_back(tmp_path: Path) -> None:
    before = draft_of(tiny.mlp(), tmp_path)
    changed = before.copy()
    changed.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    changed.graph.output[0].type.tensor_type.ClearField("shape")
    changed.producer_name = "an optimiser"
    after = before.edited(changed)
    assert face.differences(before, after) == 'input "x" was float32[batch, 16] and is float32[1, 16]'
    restored = face.restored(before, after, "fold")
    assert face.differences(before, restored) == ""
    assert restored.proto.producer_name == "tiny"
    assert restored.proto.graph.output[0] == before.proto.graph.output[0]


def test_the_order_comes_back(tmp_path: Path) -> None:
    before = draft_of(tiny.two_outputs(), tmp_path)
    changed = before.copy()
    first = changed.graph.output.pop(0)
    changed.graph.output.append(first)
    after = before.edited(changed)
    assert "outputs were total, product and are product, total" in face.differences(before, after)
    assert face.restored(before, after, "fold").output_names == ("total", "product")


def test_an_input_goes_with_its_weight(tmp_path: Path) -> None:
    model = tiny.mlp()
    model.graph.input.extend(tiny.info(t.name, t.data_type, t.dims) for t in model.graph.initializer)
    before = draft_of(model, tmp_path)
    changed = before.copy()
    gone = changed.graph.initializer.pop().name
    restored = face.restored(before, before.edited(changed), "fold")
    assert restored.input_names == ("x",) and gone not in {v.name for v in restored.proto.graph.input}
    assert len(restored.proto.graph.input) == len(before.proto.graph.input) - 1


def test_what_is_gone_or_of_another_type_is_refused(tmp_path: Path) -> None:
    before = draft_of(tiny.two_outputs(), tmp_path)
    gone = before.copy()
    del gone.graph.output[1]
    with pytest.raises(ModelError, match='fold: output "product" is gone; nothing was kept'):
        face.restored(before, before.edited(gone), "fold")
    other = before.copy()
    other.graph.output[0].type.tensor_type.elem_type = 11
    with pytest.raises(ModelError, match='output "total" has another type'):
        face.restored(before, before.edited(other), "fold")
