from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from hotlap.passes.cut import Cut
from hotlap.passes.draft import Draft, Origin
from hotlap.passes.remove_zipmap import LABELS, RemoveZipmap
from hotlap.passes.rename import Rename
from hotlap.passes.step import apply
from tests import tiny
from tests.passes.asking import answers, draft_of, ops, rng_feed
from tests.real import real


def labels(draft: Draft, output: str) -> list[Any]:
    entries = {e.key: e.value for e in draft.proto.metadata_props}
    return list(json.loads(entries[f"{LABELS}{output}"]))


def with_zipmap(model: onnx.ModelProto, scores: str, names: list[str]) -> onnx.ModelProto:
    """The model with its scores given out as maps, as scikit-learn's exporter does."""
    model.graph.node.append(
        tiny.node("ZipMap", [scores], ["maps"], domain="ai.onnx.ml", classlabels_strings=names)
    )
    kind = onnx.helper.make_map_type_proto(8, onnx.helper.make_tensor_type_proto(1, []))
    del model.graph.output[:]
    model.graph.output.append(onnx.helper.make_value_info("maps", onnx.helper.make_sequence_type_proto(kind)))
    if all(o.domain != "ai.onnx.ml" for o in model.opset_import):
        model.opset_import.add(domain="ai.onnx.ml", version=1)
    return model


def test_maps_become_a_tensor_and_the_labels_are_kept(tmp_path: Path) -> None:
    draft = draft_of(with_zipmap(tiny.mlp(), "y", ["a", "b", "c", "dä"]), tmp_path)
    applied = apply(draft, [RemoveZipmap()])
    made = applied.draft
    assert ops(made) == ["Gemm", "Relu", "Gemm"] and made.output_names == ("maps",)
    assert labels(made, "maps") == ["a", "b", "c", "dä"]
    assert made.outputs == {"maps": Origin("maps", ("a", "b", "c", "dä"))}
    assert [o.domain for o in made.proto.opset_import] == [""]
    feed = rng_feed(x=(3, 16))
    before, after = answers(draft, feed, tmp_path)["maps"], answers(made, feed, tmp_path)["maps"]
    assert after.dtype == np.float32 and after.shape == (3, 4)
    np.testing.assert_allclose(after, [[row[k] for k in labels(made, "maps")] for row in before], rtol=1e-6)


def test_a_tensor_that_is_an_input_or_an_output_itself(tmp_path: Path) -> None:
    draft = draft_of(tiny.zipmap(), tmp_path)  # its ZipMap reads the model's input
    made = apply(draft, [RemoveZipmap()]).draft
    assert ops(made) == ["ArgMax", "Identity"] and labels(made, "scores") == [0, 1]
    feed = rng_feed(x=(3, 2))
    np.testing.assert_array_equal(answers(made, feed, tmp_path)["scores"], feed["x"])


def test_the_new_node_has_a_name_of_its_own(tmp_path: Path) -> None:
    model = tiny.zipmap()
    model.graph.node[0].name = "scores_zipmap"
    made = apply(draft_of(model, tmp_path), [RemoveZipmap()]).draft
    assert len({node.name for node in made.proto.graph.node}) == 2
    answers(made, rng_feed(x=(3, 2)), tmp_path)  # the runtime refuses equal names


def test_nothing_to_do(tmp_path: Path) -> None:
    draft = draft_of(tiny.mlp(), tmp_path)
    applied = apply(draft, [RemoveZipmap()])
    assert applied.draft is draft and applied.steps[0].notes == ("the model has no ZipMap",)


@pytest.mark.parametrize("name", ["magika"])
def test_a_real_model_behind_a_zipmap(name: str, tmp_path: Path) -> None:
    model = real(name)
    names = [f"type {n}" for n in range(214)]
    draft = draft_of(with_zipmap(onnx.load(model.path), "target_label", names), tmp_path)
    made = apply(draft, [RemoveZipmap()]).draft
    (feed,) = model.feeds(1)
    before, after = answers(draft, feed, tmp_path)["maps"], answers(made, feed, tmp_path)["maps"]
    assert labels(made, "maps") == names
    np.testing.assert_allclose(after[0], [before[0][k] for k in names], rtol=1e-6)


def test_the_labels_follow_their_output(tmp_path: Path) -> None:
    draft = draft_of(tiny.zipmap(), tmp_path)

    def kept(*passes: Any) -> dict[str, str]:
        made = apply(draft, [RemoveZipmap(), *passes]).draft
        return {e.key: e.value for e in made.proto.metadata_props}

    assert kept(Rename({"scores": "p", "x": "scores_in"})) == {f"{LABELS}p": "[0, 1]"}
    assert kept(Rename({"scores": "label", "label": "scores"})) == {f"{LABELS}label": "[0, 1]"}
    assert kept(Cut(("scores",))) == {f"{LABELS}scores": "[0, 1]"}
    assert kept(Cut(("label",))) == {}
