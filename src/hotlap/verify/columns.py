"""Which column of a tensor holds which label, where the other side gives a map from label to number.

ONNX Runtime sorts the keys of its maps. The tensor that a ZipMap reads has its columns in the order of the
node's own list of labels, and so has the file without the ZipMap, which keeps that list as metadata.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hotlap.bench import Target
from hotlap.errors import MissingExtra, ModelError
from hotlap.model.graph import load_graph
from hotlap.model.walk import Node, Walk
from hotlap.serve.labels import labels_of

__all__ = ["Columns", "known_columns", "matched"]

Array = npt.NDArray[Any]
Columns = Mapping[str, Sequence[tuple[str, ...]]]
"""Output to the labels of a tensor's columns as text, as both files say them, the surer one first."""


def known_columns(one: Target, two: Target, outputs: Mapping[str, Any], others: Mapping[str, Any]) -> Columns:
    """What both sides' files say of outputs that are maps on one side and a tensor on the other."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for name, value in outputs.items():
        sides = ((one, value), (two, others.get(name)))
        tensors = [side for side, given in sides if isinstance(given, np.ndarray)]
        maps = [side for side, given in sides if isinstance(given, list)]
        if tensors and maps:
            # A tensor's own file says what its columns are; a ZipMap, what those were that it read.
            said = (_kept(tensors[0]).get(name), _zipped(maps[0]).get(name))
            found[name] = [labels for labels in said if labels]
    return found


def _kept(target: Target) -> dict[str, tuple[str, ...]]:
    if target.kind == "callable":
        return {}
    try:
        return labels_of(Path(target.model))
    except (OSError, ModelError):
        return {}


def _zipped(target: Target) -> dict[str, tuple[str, ...]]:
    if target.kind == "callable":
        return {}
    try:
        walk = Walk(load_graph(Path(target.model)))
    except (MissingExtra, ModelError):  # ORT's own format runs, but its graph cannot be read
        return {}
    return {n.outputs[0]: _labels(n) for n in walk.root.nodes if n.op == "ai.onnx.ml.ZipMap"}


def _labels(node: Node) -> tuple[str, ...]:
    texts = node.attribute("classlabels_strings") or []
    numbers = node.attribute("classlabels_int64s") or []
    return (*map(str, numbers), *(text.decode("utf-8", "replace") for text in texts))


def matched(form: Any, other: Any, after: Array, known: Sequence[tuple[str, ...]]) -> tuple[Array, bool]:
    """The second side's numbers in the order of the first's columns, and whether that order is known.

    Args:
        form, other: of the two sides, one a table and one a tensor (`answers.same_table`).
        after: the second side's numbers, a row for each map.
        known: what the columns of the tensor may hold.
    """
    table = form if form[0] == "table" else other
    keys = [str(key) for key in table[1]]
    labels = next((one for one in known if sorted(one) == sorted(keys)), None)
    if labels is None:
        return after, len(keys) < 2
    first, second = (keys, labels) if table is form else (labels, keys)
    return after[:, [second.index(key) for key in first]], True
