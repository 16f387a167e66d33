"""The numbers of constants that lie in the model's own file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hotlap.model.graph import onnx
from hotlap.model.reference import is_external
from hotlap.model.stored import as_tensor
from hotlap.model.walk import Scope, Walk

__all__ = ["array", "constant", "integers", "scalar"]

_INTEGERS = (6, 7)
_NUMBERS = (1, *_INTEGERS, 10, 11)
"""int32 and int64; and with them float32, float16 and float64: what ORT reads where it matches patterns."""
_MOST = 64
"""A shape or a number has no more elements; larger tensors are not read."""


def array(tensor: Any) -> npt.NDArray[Any] | None:
    """The elements of a ``TensorProto``; None where they lie in another file, are text, or are broken."""
    if is_external(tensor) or tensor.data_type in (0, 8):
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
    if tensor is None:
        maker = walk.maker(scope, value)
        said = maker is not None and maker.op == "Constant" and not maker.from_caller
        written = maker.proto.attribute if maker is not None and said else ()
        tensor = next((t for a in written if (t := as_tensor(a)) is not None), None)
    return None if tensor is None else array(tensor)


def scalar(tensor: Any) -> float | None:
    """The value of a tensor of one number; None for anything else, and where its data lies elsewhere."""
    values = _small(tensor, _NUMBERS)
    return float(values.item()) if values is not None and values.size == 1 else None


def integers(tensor: Any) -> tuple[int, ...] | None:
    """The elements of a small tensor of int32 or int64; None for anything else."""
    values = _small(tensor, _INTEGERS)
    return None if values is None else tuple(int(v) for v in values.reshape(-1))


def _small(tensor: Any, types: Sequence[int]) -> npt.NDArray[Any] | None:
    if tensor is None or tensor.data_type not in types or math.prod(tensor.dims) > _MOST:
        return None
    return array(tensor)
