"""Do two stored tensors hold the same numbers?"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hotlap.model.graph import onnx

__all__ = ["difference", "not_finite"]

_EXTERNAL = 1  # TensorProto.DataLocation.EXTERNAL


def difference(before: Any, after: Any, home: Path, other_home: Path) -> str:
    """How two ``TensorProto`` differ, in words; "" where they are the same.

    Args:
        before, after: the tensors.
        home, other_home: the folders of their models, for weights in files beside them; `Model.load` has seen
            that those files are inside.
    """
    one, two = _values(before, home), _values(after, other_home)
    if one.shape != two.shape or one.dtype != two.dtype:
        return f"{one.dtype.name}{list(one.shape)} became {two.dtype.name}{list(two.shape)}"
    differs = np.asarray(one != two)
    if one.dtype.kind == "f":
        differs &= ~(np.isnan(one) & np.isnan(two))
    if not differs.any():
        return ""
    place = np.unravel_index(int(np.argmax(differs)), differs.shape)
    index = f"[{', '.join(str(int(i)) for i in place)}]" if place else ""
    many = f"{int(differs.sum()):,} of {differs.size:,} values differ"
    return f"{many}, the first{index}: {one[place]:.6g} became {two[place]:.6g}"


def not_finite(tensor: Any, home: Path) -> str:
    """How many values of a ``TensorProto`` are NaN or +infinity, in words; "" where none is.

    -infinity is how masks are written. The arguments are those of `difference`.
    """
    values = _values(tensor, home)
    if values.dtype.kind != "f":
        return ""
    odd = np.isnan(values) | np.isposinf(values)
    if not odd.any():
        return ""
    place = np.unravel_index(int(np.argmax(odd)), odd.shape)
    index = f"[{', '.join(str(int(i)) for i in place)}]" if place else ""
    return f"{int(odd.sum()):,} of {odd.size:,} values not finite, the first{index}: {values[place]}"


def _values(tensor: Any, home: Path) -> npt.NDArray[Any]:
    """Its numbers. Not read by onnx where they lie in a file, since it refuses files with several hard links,
    as models that were laid somewhere without being copied are."""
    if tensor.data_location != _EXTERNAL:
        return np.asarray(onnx().numpy_helper.to_array(tensor))
    entry = {e.key: e.value for e in tensor.external_data}
    dtype = np.dtype(onnx().helper.tensor_dtype_to_np_dtype(tensor.data_type))
    count = math.prod(tensor.dims)
    found = np.fromfile(home / entry["location"], dtype, count, offset=int(entry.get("offset") or 0))
    return found.reshape(tuple(tensor.dims))
