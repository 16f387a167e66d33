"""Classifiers that give maps from label to number, and the same with a tensor in their place."""

from __future__ import annotations

import json

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import numpy_helper

from tests import tiny

__all__ = ["unzipped", "zipped"]


def zipped(*labels: int | str) -> onnx.ModelProto:
    """`tiny.zipmap` with these labels for its columns."""
    made = tiny.zipmap()
    texts = isinstance(labels[0], str)
    name = "classlabels_strings" if texts else "classlabels_int64s"
    node = tiny.node("ZipMap", ["x"], ["scores"], domain="ai.onnx.ml", **{name: list(labels)})
    made.graph.node[1].CopyFrom(node)
    if texts:
        made.graph.output[1].type.sequence_type.elem_type.map_type.key_type = T.STRING
    return made


def unzipped(*columns: int, labels: tuple[int | str, ...] = ()) -> onnx.ModelProto:
    """The tensor in place of the maps, in another order where columns are named.

    Args:
        columns: of x, in the order that they are given in.
        labels: that the file keeps as metadata.
    """
    made = tiny.model(
        [
            tiny.node("ArgMax", ["x"], ["label"], axis=1, keepdims=0),
            tiny.node("Gather", ["x", "columns"], ["scores"], axis=1),
        ],
        [tiny.info("x", T.FLOAT, ["N", 2])],
        [tiny.info("label", T.INT64, ["N"]), tiny.info("scores", T.FLOAT, ["N", 2])],
    )
    made.graph.initializer.append(numpy_helper.from_array(np.array(columns or (0, 1)), "columns"))
    if labels:
        made.metadata_props.add(key="hotlap.labels.scores", value=json.dumps(labels))
    return made
