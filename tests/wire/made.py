"""Values that the tests of this room share: one array for each element type and shape, always the same."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from hotlap.tensors import DTYPES, Dim, TensorSpec
from hotlap.wire import Signature

CARRIED = {d.name: d for d in DTYPES if d.protocol is not None}
"""Element types that the protocol has."""
WORDS = ["", "a", "héllo", "猫", "x" * 70, "line\nbreak", '"quoted"', "\x00"]


def numpy_of(name: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(CARRIED[name].numpy)


def values(name: str, shape: Sequence[int]) -> Any:
    """An array of that element type and shape."""
    count = math.prod(shape)
    steps = np.arange(count)
    if name == "string":
        cells = np.empty(count, object)
        cells[:] = [WORDS[i % len(WORDS)] for i in range(count)]
        return cells.reshape(shape)
    if name == "bool":
        return (steps % 3 == 0).reshape(shape)
    if CARRIED[name].is_float:
        return (steps * 0.37 - 1.5).astype(numpy_of(name)).reshape(shape)
    info = np.iinfo(name)
    ends = [info.max, info.min, 0, 1]
    return np.array([ends[i % 4] for i in range(count)], name).reshape(shape)


def spec(name: str, dtype: str, shape: Sequence[Dim]) -> TensorSpec:
    return TensorSpec.of(name, dtype, shape)


def signature(dtype: str, rank: int) -> Signature:
    """Input x and output y of that type, every axis free."""
    return Signature.of([spec("x", dtype, [None] * rank)], [spec("y", dtype, [None] * rank)])


def floats(**inputs: Sequence[Dim]) -> Signature:
    """float32 inputs of those shapes; one output y, float32[batch, 4]."""
    return Signature.of(
        [spec(n, "float32", s) for n, s in inputs.items()], [spec("y", "float32", ["batch", 4])]
    )


def body(inputs: Sequence[dict[str, Any]], **rest: Any) -> bytes:
    """The JSON of a request."""
    return json.dumps({"inputs": list(inputs), **rest}).encode()


def json_input(name: str, shape: Sequence[int], data: Any, datatype: str = "FP32") -> dict[str, Any]:
    return {"name": name, "shape": list(shape), "datatype": datatype, "data": data}


def binary_input(name: str, shape: Sequence[int], size: int, datatype: str = "FP32") -> dict[str, Any]:
    parameters = {"binary_data_size": size}
    return {"name": name, "shape": list(shape), "datatype": datatype, "parameters": parameters}


def same(found: Any, wanted: Any) -> bool:
    """Same element type, shape, and values bit by bit."""
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        return False
    if wanted.dtype == object:
        return bool(found.tolist() == wanted.tolist())
    return bool(found.tobytes() == wanted.tobytes())
