"""Values of every kind as what ORT can be given without being misread.

numpy arrays of any layout, byte order and kind of text; whatever lends its memory through DLPack (torch,
jax and others); ml_dtypes' types; lists and numbers. What comes out is C-contiguous, aligned, of native byte
order and of the model's own element type; a copy that this costs is counted with its reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from hotlap.errors import Unavailable
from hotlap.runtime import ort
from hotlap.runtime.copies import Copies
from hotlap.runtime.packed import ForeignTensor
from hotlap.runtime.signature import SMALL_INPUT
from hotlap.tensors import DType, TensorSpec, as_array, check_feed, is_masked

__all__ = ["as_arrays", "from_dlpack"]

Array = npt.NDArray[Any]
Made = tuple[Any, str]

_CPU, _CPU_PINNED = 1, 3  # kDLCPU and kDLCUDAHost of dlpack.h: both are memory that the CPU can read


def as_arrays(
    specs: Sequence[TensorSpec],
    feed: Mapping[str, Any],
    *,
    cast: bool = False,
    copies: Copies | None = None,
) -> dict[str, Any]:
    """The feed as ORT takes it, in the specs' order.

    Args:
        specs: the model's inputs.
        feed: input name to value.
        cast: allow casts that lose nothing (numpy's "safe", e.g. float16 to float32).
        copies: counts what is copied.

    Returns:
        Input name to array; to a `ForeignTensor` where numpy has no such type and the memory is another
        library's; to a list of arrays for a sequence. Optional inputs without a value are left out.

    Raises:
        InputError: every problem at once.
    """
    return check_feed(specs, feed, partial(_made, cast=cast, copies=copies or Copies()))


def _made(spec: TensorSpec, value: Any, cast: bool, copies: Copies) -> Made:
    kind = spec.dtype
    if kind is None:
        return _structure(spec, value, cast, copies)
    if kind.name == "string":
        array, problem = as_array(spec, value)
        if isinstance(value, np.ndarray) and value.dtype != object:
            copies.count(spec.name, "text")
        return array, problem
    if isinstance(value, np.ndarray | np.generic) and not is_masked(value):
        return _from_numpy(spec, kind, np.asarray(value), cast, copies)
    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        made, problem = from_dlpack(spec, value)
        if isinstance(made, np.ndarray):
            return _from_numpy(spec, kind, made, cast, copies)
        return made, problem
    if kind.numpy is None and value is not None:
        return None, _no_numpy(kind)
    array, problem = as_array(spec, value)
    return (None, problem) if array is None else _from_numpy(spec, kind, array, cast, copies)


def _from_numpy(spec: TensorSpec, kind: DType, array: Array, cast: bool, copies: Copies) -> Made:
    reason = ""
    if kind.numpy is None:
        if array.dtype.name != kind.name:
            return None, f"got {array.dtype.name}, expected {kind.name}: {_no_numpy(kind)}"
        if not array.dtype.isnative:
            return None, f"{kind.name} of foreign byte order; swap it first"
    elif array.dtype != kind.numpy:
        if cast and array.dtype.kind in "biufc" and np.can_cast(array.dtype, kind.numpy, "safe"):
            array, reason = array.astype(kind.numpy, order="C"), "cast"
        elif array.dtype.kind in "biufc" and array.dtype.newbyteorder("=") == kind.numpy:
            # ORT reads foreign byte order as if it were native, and answers with garbage.
            array, reason = array.astype(kind.numpy, order="C"), "byte order"
        else:
            return as_array(spec, array)
    elif array.dtype is not kind.numpy:
        array = array.view(kind.numpy)  # "long long" where the model's int64 is "long", or a dtype with notes
    if not (array.flags.c_contiguous and array.flags.aligned):
        # A small array is copied in any case: its layout costs nothing.
        if array.nbytes > SMALL_INPUT:
            reason = "unaligned" if array.flags.c_contiguous else "non-contiguous"
        array = array.copy(order="C")
    elif kind.bits < 8:
        reason = "packed"
    if reason:
        copies.count(spec.name, reason)
    return array, ""


def _no_numpy(kind: DType) -> str:
    return f"numpy alone has no {kind.name}; feed an array of ml_dtypes.{kind.name}, or a tensor with DLPack"


def from_dlpack(spec: TensorSpec, value: Any) -> Made:
    """The memory that another library lends, as an array where numpy has the type; nothing is copied."""
    device = int(value.__dlpack_device__()[0])
    if device not in (_CPU, _CPU_PINNED):
        return None, f"{type(value).__name__} on another device (DLPack type {device}): bring it to the CPU"
    assert spec.dtype is not None
    if spec.dtype.numpy is not None:
        try:
            return np.from_dlpack(value), ""
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            return None, f"{type(value).__name__} does not lend its memory to numpy: {error}"
    try:
        lent = _ort_lent(value)
    except ort.exceptions() as error:
        return None, f"{type(value).__name__} does not lend its memory (is it contiguous?): {error}"
    if lent.data_type() != spec.type:
        return None, f"got {type(value).__name__} of {lent.data_type()}, expected {spec.label}"
    return ForeignTensor(lent, value), ""


def _ort_lent(value: Any) -> Any:
    module = ort.load()
    if not hasattr(module.OrtValue, "from_dlpack"):
        raise Unavailable(f"onnxruntime {module.__version__} takes no DLPack: it needs 1.26 or newer")
    return module.OrtValue.from_dlpack(value)


# ── what is no tensor ─────────────────────────────────────────────────────────────────────────────────


def _structure(spec: TensorSpec, value: Any, cast: bool, copies: Copies) -> Made:
    """An optional tensor, or a sequence of tensors; Python cannot feed maps and sparse tensors to ORT."""
    outer, _, inner = spec.type.partition("(")
    element = TensorSpec(spec.name, inner.removesuffix(")"), spec.shape, ranked=bool(spec.shape))
    if outer == "optional":
        return (None, "") if value is None else _made(element, value, cast, copies)
    if outer != "seq" or element.dtype is None:
        return None, f"{spec.type} cannot be fed as an array"
    if not isinstance(value, list | tuple):
        return None, f"got {type(value).__name__}, expected {spec.type}: a list of arrays"
    parts = []
    for number, part in enumerate(value):
        array, problem = _made(element, part, cast, copies)
        if problem:
            return None, f"element {number}: {problem}"
        parts.append(array)
    return parts, ""
