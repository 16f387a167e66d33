"""Small constants, read straight from a `TensorProto`."""

from __future__ import annotations

from typing import Any

import numpy as np

from hotlap.tensors import DTYPES

__all__ = ["dtype_name", "integers", "scalar"]

_NAMES = {dtype.onnx: dtype.name for dtype in DTYPES}
_FIELDS = {1: "float_data", 6: "int32_data", 7: "int64_data", 11: "double_data"}
_EXTERNAL = 1
_MOST = 64
"""A shape or a number has no more elements; larger tensors are not read."""


def dtype_name(onnx_type: int) -> str:
    """The name of a ``TensorProto.DataType``; "" where it is none that hotlap knows."""
    return _NAMES.get(onnx_type, "")


def scalar(tensor: Any) -> float | None:
    """The value of a tensor of one element; None for anything else, and where its data lies elsewhere."""
    values = _values(tensor)
    return float(values[0]) if values is not None and values.size == 1 else None


def integers(tensor: Any) -> tuple[int, ...] | None:
    """The elements of a small tensor of int32 or int64; None for anything else."""
    if tensor is None or tensor.data_type not in (6, 7):
        return None
    values = _values(tensor)
    return None if values is None else tuple(int(v) for v in values)


def _values(tensor: Any) -> np.ndarray | None:
    if tensor is None or tensor.data_location == _EXTERNAL:
        return None
    if tensor.data_type not in (1, 6, 7, 10, 11) or np.prod(tuple(tensor.dims), dtype=np.float64) > _MOST:
        return None
    dtype = np.dtype(_NAMES[tensor.data_type]).newbyteorder("<")
    if tensor.HasField("raw_data"):
        raw = tensor.raw_data
        return np.frombuffer(raw, dtype) if len(raw) % dtype.itemsize == 0 else None
    if tensor.data_type == 10:  # the bits of each, in an int32
        return np.array([v & 0xFFFF for v in tensor.int32_data], np.uint16).view(np.float16)
    return np.array(list(getattr(tensor, _FIELDS[tensor.data_type])), dtype)
