from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from hotlap.errors import ModelError
from hotlap.passes import Draft, optimize
from hotlap.passes.soundness import check_source, lost_to
from tests import tiny
from tests.passes.asking import draft_of

pytestmark = pytest.mark.usefixtures("here")


def cyclic() -> onnx.ModelProto:
    made = tiny.add()
    made.graph.node[0].input[0] = "back"
    made.graph.node.append(tiny.node("Neg", ["y"], ["back"]))
    return made


def undefined() -> onnx.ModelProto:
    made = tiny.mlp()
    made.graph.node[0].input[1] = "nope"
    return made


BROKEN = [(tiny.unknown_operator, "NoSuchOperator"), (cyclic, "not acyclic"), (undefined, "'nope'")]


@pytest.mark.parametrize(("make", "said"), BROKEN)
def test_a_broken_source_is_told_before_any_pass(
    make: Callable[[], onnx.ModelProto], said: str, tmp_path: Path
) -> None:
    path = tiny.save(make(), tmp_path / "m.onnx")
    with pytest.raises(ModelError, match=said) as told:
        optimize(path, None, tmp_path / "out.onnx", measure=False)
    assert str(told.value).startswith(f"{path}: ONNX Runtime does not load it: ")
    assert str(told.value).endswith("; no pass was applied") and "source.onnx" not in str(told.value)
    assert {p.name for p in tmp_path.iterdir()} == {"m.onnx"}


def test_a_source_that_loads_passes(tmp_path: Path) -> None:
    check_source(Draft.load(tiny.save(tiny.mlp(), tmp_path / "m.onnx")))


def test_an_ir_version_that_is_too_new_is_for_a_pass_to_mend(tmp_path: Path) -> None:
    made = tiny.mlp()
    made.ir_version = 99
    check_source(Draft.load(tiny.save(made, tmp_path / "m.onnx")))


def test_a_broken_graph_stays_broken_under_an_older_ir_version(tmp_path: Path) -> None:
    made = undefined()
    made.ir_version = 99
    with pytest.raises(ModelError, match="does not load it"):
        check_source(Draft.load(tiny.save(made, tmp_path / "m.onnx")))


def test_a_model_that_is_lost_to_a_pass_and_one_that_was_lost_before(tmp_path: Path) -> None:
    good, bad = draft_of(tiny.mlp(), tmp_path), draft_of(undefined(), tmp_path, "bad.onnx")
    assert lost_to(good, good) == lost_to(bad, good) == lost_to(bad, bad) == ""
    assert "'nope'" in lost_to(good, bad) and "load" not in lost_to(good, bad)
