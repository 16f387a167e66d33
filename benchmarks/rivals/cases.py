"""The models that are served: where each lies, what it is asked, what it must answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import mlp
from examples.inputs.models import named
from hotlap.runtime import default_session
from tests import tiny

Feed = dict[str, Any]


class Case(NamedTuple):
    """One model and one question.

    Attributes:
        name: the file's stem, which is what a server calls the model.
        wanted: the output that is asked for.
        expected: what a session of its own answers.
    """

    name: str
    model: Path
    feed: Feed
    wanted: str
    expected: Any

    def saved_feed(self) -> Path:
        """The feed in a .npz beside the model, for a program of its own."""
        path = self.model.with_suffix(".npz")
        np.savez(path, **self.feed)
        return path


def small(folder: Path) -> Case:
    """16 floats, 64 hidden, 4 scores: all but some microseconds of a request are the server's."""
    return _case(mlp.write(folder / "mlp.onnx", hidden=64), mlp.feeds(1)[0], "y")


def minilm(folder: Path, tokens: int = 64) -> Case:
    """A sentence encoder of a few milliseconds, on one sentence of so many tokens."""
    link = folder / "minilm.onnx"
    if not link.exists():
        link.symlink_to(named("minilm").path.resolve())
    ids = np.random.default_rng(0).integers(1000, 20_000, (1, tokens))
    feed = {"input_ids": ids, "attention_mask": np.ones((1, tokens), np.int64)}
    return _case(link, feed, "461")


def large(folder: Path) -> Case:
    """As many floats in and out as a picture of 224 x 224 has (602 KB), and hardly any work."""
    built = tiny.model(
        [tiny.node("Relu", ["x"], ["y"])],
        [tiny.info("x", 1, ["N", 3, 224, 224])],
        [tiny.info("y", 1, ["N", 3, 224, 224])],
    )
    picture = np.random.default_rng(0).standard_normal((1, 3, 224, 224), np.float32)
    return _case(tiny.save(built, folder / "large.onnx"), {"x": picture}, "y")


def _case(model: Path, feed: Feed, wanted: str) -> Case:
    expected = default_session(model).run(feed)[wanted]
    return Case(model.stem, model, feed, wanted, expected)
