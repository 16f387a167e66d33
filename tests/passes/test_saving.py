from __future__ import annotations

import errno
import shutil
from pathlib import Path
from typing import Any

import onnx
import pytest

from hotlap.errors import StorageError, UsageError
from hotlap.model import Model
from hotlap.passes import saving
from hotlap.passes.draft import Draft
from hotlap.passes.external_weights import ExternalWeights
from hotlap.passes.saving import check_destination, written
from hotlap.passes.step import apply
from hotlap.plan.files import storage_error
from tests import tiny
from tests.passes.asking import answers, assert_same, draft_of, rng_feed


def put(draft: Draft, out: Path, **metadata: str) -> None:
    with written(draft, out, metadata) as files:
        assert files.model.parent != out.parent and files.model.is_file()
        files.put()


def names(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}


def test_a_file_is_written_whole_with_its_metadata(tmp_path: Path) -> None:
    out = tmp_path / "out" / "m.onnx"
    out.parent.mkdir()
    put(draft_of(tiny.mlp(), tmp_path), out, **{"hotlap.source": "sha256:0"})
    assert names(out.parent) == {"m.onnx"}
    assert [(e.key, e.value) for e in onnx.load(out).metadata_props] == [("hotlap.source", "sha256:0")]


def test_without_put_nothing_is_left(tmp_path: Path) -> None:
    out = tmp_path / "out" / "m.onnx"
    out.parent.mkdir()
    with written(draft_of(tiny.mlp(), tmp_path), out, {}):
        assert len(names(out.parent)) == 1
    assert names(out.parent) == set()


def test_weights_lie_beside_it_under_the_name_of_their_content(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    draft = draft_of(tiny.mlp(), tmp_path)
    put(apply(draft, [ExternalWeights(0)]).draft, folder / "m.onnx")
    (weights,) = names(folder) - {"m.onnx"}
    assert weights.startswith("m.") and weights.endswith(".data")
    assert list(Model.load(folder / "m.onnx").external) == [weights]
    feed = rng_feed(x=(2, 16))
    assert_same(answers(draft, feed, tmp_path), answers(Draft.load(folder / "m.onnx"), feed, tmp_path))
    # Another one in its place: its old weights are gone, those of others stay.
    (folder / "m.other.data").write_bytes(b"not ours")
    put(apply(draft_of(tiny.mlp(seed=1), tmp_path), [ExternalWeights(0)]).draft, folder / "m.onnx")
    assert weights not in names(folder) and len(names(folder)) == 3


def test_a_model_with_weights_of_the_users_is_written_with_its_own_copy(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    draft = Draft.load(tiny.mlp_external(tmp_path / "in"))
    put(draft, tmp_path / "m.onnx")
    before = (tmp_path / "in" / "model.onnx.data").read_bytes()
    put(draft_of(tiny.add(), tmp_path, "a.onnx"), tmp_path / "m.onnx")
    assert (tmp_path / "in" / "model.onnx.data").read_bytes() == before
    assert not [n for n in names(tmp_path) if n.endswith(".data")]


def test_large_weights_go_beside_by_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "LARGEST_INSIDE", 1 << 12)
    put(draft_of(tiny.mlp(hidden=256), tmp_path), tmp_path / "out.onnx")
    assert len(Model.load(tmp_path / "out.onnx").external) == 1


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "m.onnx"
    out.write_bytes(b"old")
    draft = apply(draft_of(tiny.mlp(), tmp_path, "source.onnx"), [ExternalWeights(0)]).draft

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(saving, "copy_sparse", full)
    with pytest.raises(StorageError, match="the disk is full"):
        put(draft, out)
    assert out.read_bytes() == b"old" and names(tmp_path) == {"m.onnx", "source.onnx"}


@pytest.mark.parametrize("what", ["copy_sparse", "write_whole"])
def test_the_message_names_the_file_that_was_asked_for(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, *_: Any) -> None:
        error = OSError(errno.ENOSPC, "No space left on device")
        if what == "copy_sparse":
            raise error
        raise storage_error(path, error) from error

    draft = apply(draft_of(tiny.mlp(), tmp_path, "source.onnx"), [ExternalWeights(0)]).draft
    monkeypatch.setattr(saving, what, full)
    with pytest.raises(StorageError) as caught:
        put(draft, tmp_path / "m.onnx")
    assert str(caught.value) == f"{tmp_path / 'm.onnx'}: not written: the disk is full; make room"


def test_an_interrupt_leaves_the_old_file(tmp_path: Path) -> None:
    out = tmp_path / "m.onnx"
    out.write_bytes(b"old")
    draft = draft_of(tiny.mlp(), tmp_path, "source.onnx")
    with pytest.raises(KeyboardInterrupt), written(draft, out, {}):
        raise KeyboardInterrupt
    assert out.read_bytes() == b"old" and names(tmp_path) == {"m.onnx", "source.onnx"}


def test_destinations_that_would_lose_something(tmp_path: Path) -> None:
    source = tiny.save(tiny.add(), tmp_path / "m.onnx")
    other = tiny.save(tiny.add(), tmp_path / "other.onnx")
    check_destination(source, [source], tmp_path / "new.onnx", force=False)
    check_destination(source, [source], other, force=True)
    with pytest.raises(UsageError, match="exists; name another or say --force"):
        check_destination(source, [source], other, force=False)
    link = tmp_path / "link.onnx"
    link.symlink_to(source)
    for same in (source, link):
        with pytest.raises(UsageError, match="is the model that is read"):
            check_destination(source, [source], same, force=True)
    with pytest.raises(UsageError, match=r'ends in "\.onnx"'):
        check_destination(source, [source], tmp_path / "new.bin", force=False)
    with pytest.raises(StorageError, match="does not exist"):
        check_destination(source, [source], tmp_path / "nowhere" / "new.onnx", force=False)


def test_old_weights_stay_that_another_model_reads(tmp_path: Path) -> None:
    out, copy, above = tmp_path / "sub" / "out.onnx", tmp_path / "sub" / "copy.onnx", tmp_path / "m.onnx"
    out.parent.mkdir()
    put(apply(draft_of(tiny.mlp(), tmp_path, "first.onnx"), [ExternalWeights(0)]).draft, out)
    (weights,) = names(out.parent) - {"out.onnx"}
    shutil.copy(out, copy)
    other = draft_of(tiny.add(), tmp_path, "a.onnx")
    put(other, out)
    assert Draft.load(copy).files[weights].is_file()
    proto = onnx.load(copy, load_external_data=False)
    for tensor in proto.graph.initializer:
        for entry in tensor.external_data:
            entry.value = entry.value.replace(weights, f"sub/{weights}")
    tiny.save(proto, above)
    copy.replace(out)
    with written(other, out, {}) as files:
        files.put(Model.load(above).files())
    assert Draft.load(above).files[f"sub/{weights}"].is_file() and not Draft.load(out).files
