"""A copy of a model with every float weight off by one unit in the last place: what rounding alone does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hotlap.model.external import external_files
from hotlap.model.graph import load_graph, onnx, tensors
from hotlap.plan.files import write_whole

__all__ = ["nudge_weights", "nudged_copy"]

_FLOATS = frozenset({1, 10, 11})  # float32, float16, float64 in onnx.TensorProto.DataType
LEAST = 16
"""Smaller tensors are left alone: many are scales that sizes are computed from, where one bit decides."""


def nudged_copy(path: Path, copy: Path, seed: int) -> Path | None:
    """Write a copy with every float weight one unit in the last place up or down, at random.

    Args:
        path: the .onnx file.
        copy: the file to write.
        seed: of the draw.

    Returns:
        `copy`; None where there is nothing to nudge, or the weights lie in files beside the model (such
        models are large, and a copy of their weights is not worth the answer).

    Raises:
        ModelError: the file is missing or broken.
        MissingExtra: onnx is not installed.
        StorageError: no room for the copy.
    """
    model = load_graph(path)
    if external_files(model, path):
        return None
    if not nudge_weights(model, seed):
        return None
    write_whole(copy, model.SerializeToString())
    return copy


def nudge_weights(model: Any, seed: int) -> int:
    """Move every float weight of a ``ModelProto`` one unit in the last place up or down, at random.

    Args:
        model: it is changed; all its weights must lie in it.
        seed: of the draw.

    Returns:
        how many tensors were moved.
    """
    rng = np.random.default_rng(seed)
    helper = onnx().numpy_helper
    nudged = 0
    for tensor in tensors(model):
        if tensor.data_type in _FLOATS and int(np.prod(tensor.dims)) >= LEAST:
            values = helper.to_array(tensor)
            tensor.CopyFrom(helper.from_array(_nudged(values, rng), tensor.name))
            nudged += 1
    return nudged


def _nudged(values: npt.NDArray[Any], rng: np.random.Generator) -> npt.NDArray[Any]:
    """Zeros stay: their neighbours are denormals, not rounding errors."""
    towards = np.where(rng.random(values.shape) < 0.5, values.dtype.type(np.inf), values.dtype.type(-np.inf))
    moved = np.nextafter(values, towards)
    return np.where((values == 0) | ~np.isfinite(moved), values, moved)
