"""The numbers of constants that lie in the model's own file."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hotlap.model.graph import onnx
from hotlap.model.walk import Scope, Walk

__all__ = ["array", "constant"]

_EXTERNAL = 1  # TensorProto.DataLocation.EXTERNAL
_AS_WRITTEN = {
    "value_int": np.int64,
    "value_ints": np.int64,
    "value_float": np.float32,
    "value_floats": np.float32,
}
"""Attributes of ``Constant`` that hold numbers and no tensor, with the type that they stand for (ONNX's
Operators.md, Constant)."""


def array(tensor: Any) -> npt.NDArray[Any] | None:
    """The elements of a ``TensorProto``; None where they lie in another file, are text, or are broken."""
    if tensor is None or tensor.data_location == _EXTERNAL or tensor.data_type in (0, 8):
        return None
    try:
        return np.asarray(onnx().numpy_helper.to_array(tensor))
    except (ValueError, TypeError, KeyError, OverflowError, MemoryError, AttributeError):
        return None  # a size that does not fit the data, a type that onnx does not know


def constant(walk: Walk, scope: Scope, value: str) -> npt.NDArray[Any] | None:
    """The elements of a weight or of what a ``Constant`` node makes, however that is written.

    None where nothing says them: no constant, external, text, sparse, or a weight that a caller may replace.
    """
    tensor = walk.constant(scope, value)
    if tensor is not None:
        return array(tensor)
    maker = walk.maker(scope, value)
    if maker is None or maker.op != "Constant":
        return None
    for name, dtype in _AS_WRITTEN.items():
        written = maker.attribute(name)
        if written is not None:
            return np.asarray(written, dtype)
    return None
