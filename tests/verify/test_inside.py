from __future__ import annotations

from pathlib import Path

import numpy as np

from hotlap.bench import Target
from hotlap.model.graph import load_graph
from hotlap.model.walk import Walk
from hotlap.verify.inside import FIRST, MOST, Chunks, Inside, stored
from tests import tiny


def test_as_many_values_are_looked_at_together_as_fit() -> None:
    chunks = Chunks(range(500))
    sizes = []
    for chunk in chunks:
        sizes.append(len(chunk))
        chunks.took([{("", str(n)): np.zeros(1 << 20, np.uint8) for n in chunk}])
    assert sizes[0] == FIRST and set(sizes[1:-1]) == {MOST} and sum(sizes) == 500 and max(sizes) <= MOST


def test_large_values_are_looked_at_two_at_a_time() -> None:
    chunks = Chunks(range(30))
    sizes = []
    big = np.broadcast_to(np.uint8(0), (1 << 30,))  # its size is counted, nothing lies in memory
    for chunk in chunks:
        sizes.append(len(chunk))
        chunks.took([{("", str(n)): big for n in chunk}])
    assert sizes == [FIRST, 2, 2, 2, 2, 2, 2, 2]


def test_a_side_says_which_feeds_it_does_not_take(tmp_path: Path) -> None:
    path = tiny.save(tiny.mlp(), tmp_path / "m.onnx")
    feeds = [{"x": np.ones((1, size), np.float32)} for size in (16, 3)]
    (tmp_path / "home").mkdir()
    refused = Inside(Target.default(path, label="mine"), tmp_path / "home").refusals(feeds)
    assert list(refused) == [1] and refused[1].startswith('mine: input "x"')


def test_a_weight_that_is_also_an_input_is_stored(tmp_path: Path) -> None:
    built = tiny.mlp()
    built.graph.input.append(tiny.info("w1", 1, [16, 32]))
    walk = Walk(load_graph(tiny.save(built, tmp_path / "m.onnx")))
    assert walk.constant(walk.root, "w1") is None and stored(walk, walk.root, "w1").name == "w1"
    assert stored(walk, walk.root, "x") is None and stored(walk, walk.root, "h") is None
