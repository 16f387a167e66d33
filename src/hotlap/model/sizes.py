"""How much room a stored tensor takes, told from its element type and shape alone."""

from __future__ import annotations

import math
from typing import Any

from hotlap.tensors import DTYPES, DType

__all__ = ["dtype_of", "elements", "stored_bytes"]

_BY_NUMBER = {d.onnx: d for d in DTYPES}


def dtype_of(tensor: Any) -> DType | None:
    """The element type of a ``TensorProto``; None where its number is none that ONNX knows."""
    return _BY_NUMBER.get(tensor.data_type)


def elements(tensor: Any) -> int:
    """How many elements its shape says that it has; 0 where a size is negative."""
    return max(math.prod(tensor.dims), 0) if all(d >= 0 for d in tensor.dims) else 0


def stored_bytes(tensor: Any) -> int | None:
    """Bytes that its elements take, packed as ONNX packs them; None for text and unknown element types.

    Elements of 4 and 2 bits share bytes, and the last byte is filled up (onnx.proto3, TensorProto.raw_data).
    """
    dtype = dtype_of(tensor)
    if dtype is None or not dtype.bits:
        return None
    return (elements(tensor) * dtype.bits + 7) // 8
