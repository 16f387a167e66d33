from __future__ import annotations

from pathlib import Path

import pytest

from hotlap.errors import ModelError
from hotlap.passes.draft import Draft, copy_sparse
from hotlap.runtime import file_digest
from tests import tiny
from tests.passes.asking import answers, assert_same, draft_of, rng_feed


def test_a_draft_that_nothing_changed_is_its_file_byte_for_byte(tmp_path: Path) -> None:
    path = tiny.save(tiny.mlp(), tmp_path / "m.onnx")
    draft = Draft.load(path)
    assert draft.digest == file_digest(path)
    assert draft.data == path.read_bytes()
    assert (draft.input_names, draft.output_names, draft.opset, draft.node_count()) == (("x",), ("y",), 17, 3)


def test_an_edited_one_has_another_digest_and_leaves_the_first_as_it_was(tmp_path: Path) -> None:
    draft = draft_of(tiny.mlp(), tmp_path)
    proto = draft.copy()
    proto.graph.name = "other"
    edited = draft.edited(proto)
    assert edited.digest != draft.digest and draft.proto.graph.name == "tiny"
    assert edited.inputs == {"x": "x"} and edited.dropped_inputs == frozenset()
    assert draft.edited(proto, inputs={}).dropped_inputs == {"x"}


def test_external_weights_stay_in_their_file_and_travel_with_it(tmp_path: Path) -> None:
    draft = Draft.load(tiny.mlp_external(tmp_path))
    assert list(draft.files) == ["model.onnx.data"]
    assert len(draft.data) < 2000
    for link in (True, False):
        folder = tmp_path / f"laid-{link}"
        folder.mkdir()
        laid = draft.lay(folder, link=link)
        assert ((folder / "model.onnx.data").stat().st_nlink == 2) is link
        feed = rng_feed(x=(2, 16))
        assert_same(
            answers(draft_of(tiny.mlp(), tmp_path), feed, tmp_path), answers(Draft.load(laid), feed, tmp_path)
        )
        (folder / "model.onnx.data").unlink()


def test_weights_outside_of_the_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="outside of its own folder"):
        Draft.load(tiny.save(tiny.external_at("../w"), tmp_path / "m.onnx"))


def test_a_sparse_copy_has_the_same_bytes(tmp_path: Path) -> None:
    source = tmp_path / "a"
    source.write_bytes(b"x" * 10 + bytes(3 << 20) + b"y" + bytes(1 << 20))
    copy_sparse(source, tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == source.read_bytes()
