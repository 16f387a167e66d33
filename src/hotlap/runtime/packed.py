"""Element types that numpy alone does not have: bfloat16, float8, and those of 2 and 4 bits.

`ml_dtypes` gives numpy these types; torch has some of its own. Neither is imported here unless an answer of
such a type is wanted as an array. ORT keeps 2 and 4 bits packed, the first element in the lowest bits
(onnx.proto3, `TensorProto.raw_data`); ml_dtypes keeps one element a byte.
"""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

import numpy as np
import numpy.typing as npt

from hotlap.errors import Unavailable
from hotlap.runtime import ort
from hotlap.tensors import DType, TensorSpec

__all__ = ["ForeignTensor", "array_of", "copy_of", "value_of"]

Array = npt.NDArray[Any]


class ForeignTensor:
    """A tensor that another library lent through DLPack, and whose type numpy does not have.

    Attributes:
        value: ORT's value on the same memory.
        shape: its shape.
    """

    def __init__(self, value: Any, owner: Any) -> None:
        self.value = value
        self.shape = tuple(value.shape())
        self._owner = owner


def value_of(spec: TensorSpec, array: Any) -> Any:
    """ORT's value on the array's own memory, without a copy but for 2 and 4 bits.

    Args:
        array: C-contiguous, native byte order, of the spec's type (or of ml_dtypes' for it); the caller keeps
            it alive as long as the value.
    """
    if isinstance(array, ForeignTensor):
        return array.value
    kind = spec.dtype
    assert kind is not None
    value_type = ort.load().OrtValue
    if kind.bits >= 8:
        return value_type.ortvalue_from_numpy_with_onnx_type(_plain_view(kind, array), kind.onnx)
    value = value_type.ortvalue_from_shape_and_type(list(array.shape), kind.onnx)
    packed = _pack(array, kind.bits)
    ctypes.memmove(value.data_ptr(), packed.ctypes.data, packed.nbytes)
    return value


def array_of(spec: TensorSpec, value: Any) -> Array:
    """The value's elements as an array of ml_dtypes' type for them; a copy.

    Raises:
        Unavailable: ml_dtypes is not installed.
    """
    kind = spec.dtype
    assert kind is not None
    dtype = _dtype_of(spec, kind)
    shape = tuple(value.shape())
    raw = np.empty(value.tensor_size_in_bytes(), np.uint8)
    ctypes.memmove(raw.ctypes.data, value.data_ptr(), raw.nbytes)
    if kind.bits >= 8:
        return raw.view(dtype).reshape(shape)
    return _unpack(raw, kind, int(np.prod(shape, dtype=np.int64))).view(dtype).reshape(shape)


def copy_of(spec: TensorSpec, value: Any) -> Any:
    """ORT's value on memory of its own, with the same elements."""
    assert spec.dtype is not None
    copy = ort.load().OrtValue.ortvalue_from_shape_and_type(list(value.shape()), spec.dtype.onnx)
    ctypes.memmove(copy.data_ptr(), value.data_ptr(), value.tensor_size_in_bytes())
    return copy


def _dtype_of(spec: TensorSpec, kind: DType) -> np.dtype[Any]:
    try:
        module = importlib.import_module("ml_dtypes")
    except ModuleNotFoundError as error:
        raise Unavailable(
            f'output "{spec.name}" is {kind.name}, which numpy alone does not have: pip install ml-dtypes, '
            "or take the answer with run_dlpack"
        ) from error
    if not hasattr(module, kind.name):
        raise Unavailable(f"ml_dtypes {module.__version__} has no {kind.name}: pip install -U ml-dtypes")
    dtype: np.dtype[Any] = np.dtype(getattr(module, kind.name))
    return dtype


def _plain_view(kind: DType, array: Array) -> Array:
    return array if kind.numpy is not None else array.view(f"u{kind.bits // 8}")


def _pack(array: Array, bits: int) -> npt.NDArray[np.uint8]:
    each = 8 // bits
    flat = np.ascontiguousarray(array).view(np.uint8).ravel() & ((1 << bits) - 1)
    rows = np.zeros((-(-flat.size // each), each), np.uint8)
    rows.ravel()[: flat.size] = flat
    shifts = np.arange(each, dtype=np.uint8) * bits
    packed: npt.NDArray[np.uint8] = np.bitwise_or.reduce(rows << shifts, axis=1).astype(np.uint8)
    return packed


def _unpack(raw: npt.NDArray[np.uint8], kind: DType, count: int) -> npt.NDArray[np.uint8]:
    shifts = np.arange(8 // kind.bits, dtype=np.uint8) * kind.bits
    cells = ((raw[:, None] >> shifts) & ((1 << kind.bits) - 1)).ravel()[:count].astype(np.uint8)
    if kind.is_integer and not kind.name.startswith("u"):
        sign = np.uint8(1 << (kind.bits - 1))
        cells = (cells ^ sign) - sign  # the sign fills the whole byte, as ml_dtypes keeps it
    return cells
