from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hotlap.bench.calling import open_callable
from hotlap.passes.remove_zipmap import RemoveZipmap
from hotlap.passes.rename import Rename
from hotlap.passes.step import apply
from hotlap.passes.view import Face, View, face_of, view_target
from hotlap.runtime import default_session
from tests import tiny
from tests.passes.asking import draft_of, rng_feed
from tests.passes.test_remove_zipmap import with_zipmap


def test_names_go_back(tmp_path: Path) -> None:
    draft = draft_of(tiny.mlp(), tmp_path)
    renamed = apply(draft, [Rename({"x": "a", "y": "b"})]).draft
    folder = tmp_path / "new"
    folder.mkdir()
    view = View(face_of(renamed, renamed.lay(folder)))
    feed = rng_feed(x=(2, 16))
    expected = default_session(draft.path or "").run(feed)
    np.testing.assert_array_equal(view.run(feed)["y"], expected["y"])


@pytest.mark.parametrize("labels", [[0, 1], [1, 0], ["b", "a"], ["ä", "Z"]])
def test_maps_are_made_again(labels: list[int | str], tmp_path: Path) -> None:
    if isinstance(labels[0], int):
        model = tiny.zipmap()
        model.graph.node[-1].attribute[0].ints[:] = labels
    else:
        model = with_zipmap(tiny.identity(shape=("N", 2)), "y", labels)
    draft = draft_of(model, tmp_path)
    made = apply(draft, [RemoveZipmap()]).draft
    folder = tmp_path / "new"
    folder.mkdir()
    view = View(face_of(made, made.lay(folder)))
    feed = rng_feed(x=(2, 2))
    expected = default_session(draft.path or "").run(feed)
    (name,) = (n for n in expected if n in ("scores", "maps"))
    assert view.run(feed)[name] == expected[name]
    # The runtime gives its keys in their order, whichever order the labels have in the file.
    assert [list(row) for row in view.run(feed)[name]] == [list(row) for row in expected[name]]


def test_rows_are_asked_one_by_one_and_what_the_model_does_not_take_is_left_out(tmp_path: Path) -> None:
    path = tiny.save(tiny.mlp(), tmp_path / "m.onnx")
    view = View(Face(model=str(path), single=["x"], stacked={"y": 0}))
    feed = rng_feed(x=(3, 16))
    np.testing.assert_allclose(
        view.run({**feed, "gone": np.zeros(3)})["y"], default_session(path).run(feed)["y"], rtol=1e-5
    )


def test_it_opens_as_a_callable_target(tmp_path: Path) -> None:
    path = tiny.save(tiny.add(), tmp_path / "m.onnx")
    target = view_target(Face(model=str(path)), tmp_path, "candidate")
    called = open_callable(target.function or "", target.folder or "")
    np.testing.assert_array_equal(called.run({"x": np.ones((1, 4), np.float32)})["y"], np.full((1, 4), 2))
