"""Models with planted errors: copies whose weights a function has changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import numpy_helper

from hotlap.bench import Target
from hotlap.model.graph import tensors
from hotlap.plan import ModelRef, Plan
from hotlap.runtime import file_digest

Change = Callable[[np.ndarray], np.ndarray]


def planned(path: Path, label: str = "candidate", **settings: Any) -> Target:
    """A plan for the model as a target; `settings` are the plan's fields."""
    ref = ModelRef(path=str(path.absolute()), digest=file_digest(path))
    return Target.planned(Plan(model=ref, **settings), label=label)


def weights(path: Path) -> list[int]:
    """Places, among the float tensors of a model, of those large enough to be weights."""
    return [n for n, t in enumerate(_floats(onnx.load(path))) if np.prod(t.dims) > 500]


def planted(path: Path, copy: Path, change: Change, only: int | None = None) -> Path:
    """A copy with every large weight changed, or the one at place `only`."""
    model = onnx.load(path)
    places = weights(path) if only is None else [only]
    for place, tensor in enumerate(_floats(model)):
        if place in places:
            values = change(numpy_helper.to_array(tensor).copy()).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    copy.write_bytes(model.SerializeToString())
    return copy


def rounded_to_bfloat16(values: np.ndarray) -> np.ndarray:
    return values.astype(ml_dtypes.bfloat16).astype(np.float32)


def one_off_by_a_thousandth(values: np.ndarray) -> np.ndarray:
    """The largest value alone."""
    flat = values.reshape(-1)
    flat[np.abs(flat).argmax()] *= 1.001
    return values


def all_off_by_a_thousandth(values: np.ndarray) -> np.ndarray:
    return values * np.float32(1.001)


def _floats(model: onnx.ModelProto) -> list[Any]:
    return [t for t in tensors(model) if t.data_type == onnx.TensorProto.FLOAT]
