"""Two model files against each other, down to each weight."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hotlap.inspect.cost_apart import cost_of
from hotlap.model import Anatomy, Model, WeightStats, anatomy, weight_stats
from hotlap.model.diff import Difference, diff
from hotlap.model.walk import Walk

__all__ = ["diff_files"]


def diff_files(before: Path, after: Path) -> Difference:
    """What differs between two models: signature, file, operators, nodes, weights, cost, external files.

    Models whose external weights are missing or broken are compared as far as they can be read.

    Raises:
        ModelError: a file is missing or not ONNX.
        MissingExtra: onnx is not installed.
        StorageError: no room for temporary files.
    """
    (a, weights_a, walk_a), (b, weights_b, walk_b) = _read(before), _read(after)
    return diff(a, b, weights_a, weights_b, (walk_a, walk_b))


def _read(path: Path) -> tuple[Anatomy, Iterator[WeightStats], Walk]:
    model = Model.load(path, external="report")
    return anatomy(model, cost_of(path)), weight_stats(model.proto, path.parent, model.walk), model.walk
