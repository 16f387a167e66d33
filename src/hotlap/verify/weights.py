"""Do two stored tensors hold the same numbers?"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hotlap.model.graph import onnx
from hotlap.model.pieces import pieces
from hotlap.model.sizes import dtype_of
from hotlap.verify.index import index_text

__all__ = ["difference", "not_finite", "sparse_difference"]

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
    one, two = _plain(one), _plain(two)
    differs = np.asarray(one != two)
    if one.dtype.kind == "f":
        differs &= ~(np.isnan(one) & np.isnan(two))
    if not differs.any():
        return ""
    place = np.unravel_index(int(np.argmax(differs)), differs.shape)
    many = f"{int(differs.sum()):,} of {differs.size:,} values differ"
    return f"{many}, the first{index_text(place)}: {_told(one[place])} became {_told(two[place])}"


def sparse_difference(before: Any, after: Any, home: Path, other_home: Path) -> str:
    """How two ``SparseTensorProto`` differ; as `difference`."""
    if list(before.dims) != list(after.dims):
        return f"{list(before.dims)} became {list(after.dims)}"
    if said := difference(before.values, after.values, home, other_home):
        return said
    places = difference(before.indices, after.indices, home, other_home)
    return places and f"its values lie elsewhere: {places}"


def _told(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, np.floating) else repr(getattr(value, "item", lambda: value)())


def _plain(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """bfloat16, float8, and elements of 2 and 4 bits as float32, which holds all of their numbers."""
    return values.astype(np.float32) if values.dtype.kind == "V" else values


def not_finite(tensor: Any, home: Path) -> str:
    """How many values of a ``TensorProto`` are NaN or +infinity, in words; "" where none is.

    -infinity is how masks are written. The arguments are those of `difference`.
    """
    values = _plain(_values(tensor, home))
    if values.dtype.kind != "f":
        return ""
    odd = np.isnan(values) | np.isposinf(values)
    if not odd.any():
        return ""
    place = np.unravel_index(int(np.argmax(odd)), odd.shape)
    return (
        f"{int(odd.sum()):,} of {odd.size:,} values not finite, the first{index_text(place)}: {values[place]}"
    )


def _values(tensor: Any, home: Path) -> npt.NDArray[Any]:
    """Its numbers. Not read by onnx where they lie in a file, since it refuses files with several hard links,
    as models that were laid somewhere without being copied are."""
    if tensor.data_location != _EXTERNAL:
        return np.asarray(onnx().numpy_helper.to_array(tensor))
    kind = dtype_of(tensor)
    if kind is not None and 0 < kind.bits < 8:  # several share a byte
        raw = b"".join(pieces(tensor, home))
        inside = type(tensor)(dims=tensor.dims, data_type=tensor.data_type, raw_data=raw)
        return np.asarray(onnx().numpy_helper.to_array(inside))
    entry = {e.key: e.value for e in tensor.external_data}
    dtype = np.dtype(onnx().helper.tensor_dtype_to_np_dtype(tensor.data_type))
    count = math.prod(tensor.dims)
    found = np.fromfile(home / entry["location"], dtype, count, offset=int(entry.get("offset") or 0))
    return found.reshape(tuple(tensor.dims))
