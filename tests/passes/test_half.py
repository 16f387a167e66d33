from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

from hotlap.errors import UsageError
from hotlap.passes import half, named_pass, optimize
from hotlap.passes.draft import Draft
from hotlap.passes.half import Half
from hotlap.passes.step import apply
from tests import tiny
from tests.passes.asking import answers, draft_of, rng_feed
from tests.real import real

pytestmark = pytest.mark.usefixtures("here")


def rms_norm() -> onnx.ModelProto:
    """y = (x / sqrt(mean(x²) + 1e-12)) W; x: float32[N, 8]."""
    return tiny.model(
        [
            tiny.node("Mul", ["x", "x"], ["s"], name="square"),
            tiny.node("ReduceMean", ["s"], ["v"], name="mean", axes=[1], keepdims=1),
            tiny.node("Add", ["v", "eps"], ["ve"], name="add"),
            tiny.node("Sqrt", ["ve"], ["r"], name="root"),
            tiny.node("Div", ["x", "r"], ["d"], name="divide"),
            tiny.node("MatMul", ["d", "w"], ["y"], name="multiply"),
        ],
        [tiny.info("x", T.FLOAT, ["N", 8])],
        [tiny.info("y", T.FLOAT, ["N", 8])],
        {"eps": np.array([1e-12], np.float32), "w": np.eye(8, dtype=np.float32)},
    )


def halves(draft: Draft) -> set[str]:
    """Names of nodes whose first output is float16."""
    inferred = onnx.shape_inference.infer_shapes(draft.proto).graph
    types = {v.name: v.type.tensor_type.elem_type for v in (*inferred.value_info, *inferred.output)}
    return {
        n.name for n in draft.proto.graph.node if types.get(n.output[0]) == T.FLOAT16 and n.op_type != "Cast"
    }


def feeds(size: float, count: int = 8) -> list[dict[str, Any]]:
    return [{"x": f["x"] * np.float32(size)} for f in (rng_feed(n, x=(1, 8)) for n in range(count))]


def test_a_constant_that_it_would_lose_stays(tmp_path: Path) -> None:
    applied = apply(draft_of(rms_norm(), tmp_path), [Half(feeds(1))])
    assert halves(applied.draft) == {"square", "mean", "root", "divide", "multiply"}
    assert any('"eps" holds nothing above 1e-12' in note for note in applied.steps[0].notes)


@pytest.mark.parametrize("kind", ["value", "value_float", "value_floats"])
def test_one_that_a_node_says_is_told_by_the_value_that_it_makes(kind: str, tmp_path: Path) -> None:
    model = rms_norm()
    tensor = model.graph.initializer.pop(0)
    tensor.name = ""
    said = {"value": tensor, "value_float": 1e-12, "value_floats": [1e-12]}[kind]
    node = tiny.node("Constant", [], ["eps"], **{kind: said})
    why = half._why_not(draft_of(model, tmp_path), node, {"eps": T.FLOAT}, {}, frozenset())
    assert why == '"eps" holds nothing above 1e-12'


def test_what_would_overflow_stays(tmp_path: Path) -> None:
    applied = apply(draft_of(rms_norm(), tmp_path), [Half(feeds(300))])
    assert halves(applied.draft) == {"divide", "multiply"}
    assert any('"s" reaches' in note for note in applied.steps[0].notes)


def test_what_is_too_small_and_what_divides_by_it_stays(tmp_path: Path) -> None:
    for size, kept in ((1e-4, {"square", "mean", "add", "root"}), (1e-2, {"add", "root"})):
        applied = apply(draft_of(rms_norm(), tmp_path), [Half(feeds(size))])
        assert "multiply" in halves(applied.draft)
        assert not halves(applied.draft) & kept


def test_what_resizes_and_normalises_loads_in_half_precision(tmp_path: Path) -> None:
    """Scales and regions of interest stay float32, as the operator's types want; the nodes stay in order."""
    model = tiny.model(
        [
            tiny.node("Conv", ["x", "k"], ["c"], name="conv", pads=[1, 1, 1, 1]),
            tiny.node("Resize", ["c", "roi", "scales"], ["u"], name="resize", mode="linear"),
            tiny.node("InstanceNormalization", ["u", "s", "b"], ["y"], name="norm"),
        ],
        [tiny.info("x", T.FLOAT, ["N", 3, 4, 4])],
        [tiny.info("y", T.FLOAT, ["N", 4, 8, 8])],
        {
            "k": np.ones((4, 3, 3, 3), np.float32) / 9, "roi": np.array([], np.float32),
            "scales": np.array([1, 1, 2, 2], np.float32),
            "s": np.ones(4, np.float32), "b": np.zeros(4, np.float32),
        },
    )  # fmt: skip
    path = tiny.save(model, tmp_path / "m.onnx")
    data = [rng_feed(n, x=(1, 3, 4, 4)) for n in range(8)]
    found = optimize(
        path, [named_pass("half")], tmp_path / "out.onnx", data=data, level="close", measure=False
    )
    assert found.written, found.reason
    out = Draft.load(tmp_path / "out.onnx")
    assert "conv" in halves(out)
    types = {t.name: t.data_type for t in out.proto.graph.initializer}
    assert types["scales"] == T.FLOAT
    made: set[str] = {"x", *types, ""}
    for node in out.proto.graph.node:
        assert set(node.input) <= made
        made |= set(node.output)


def test_where_everything_must_stay_nothing_changes(tmp_path: Path) -> None:
    """A model that leaves float16's range at once; converting around each node would only add casts."""
    model = tiny.model(
        [tiny.node("Mul", ["x", "big"], ["h"]), tiny.node("Mul", ["h", "small"], ["y"])],
        [tiny.info("x", T.FLOAT, ["N", 8])],
        [tiny.info("y", T.FLOAT, ["N", 8])],
        {"big": np.float32(1e6), "small": np.float32(1e-6)},
    )
    draft = draft_of(model, tmp_path)
    applied = apply(draft, [Half(feeds(1))])
    assert not halves(applied.draft) and np.isfinite(answers(applied.draft, feeds(1)[0], tmp_path)["y"]).all()


def test_inputs_are_needed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="half: it needs your inputs"):
        apply(draft_of(rms_norm(), tmp_path), [Half()])


def test_a_real_model_is_half_as_large_and_close(tmp_path: Path) -> None:
    model = real("ocr-cls")
    found = optimize(
        model.path,
        [named_pass("fuse"), named_pass("half")],
        tmp_path / "out.onnx",
        data=model.feeds(16),
        level="close",
        measure=False,
    )
    assert found.written, found.reason
    assert found.size < 0.7 * found.size_before
    assert found.verdict is not None and found.verdict.level == "close"
