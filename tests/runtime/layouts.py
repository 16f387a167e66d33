"""One array in every layout that numpy has, and models that take every element type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import hotlap
from hotlap.runtime import Runner
from hotlap.tensors import DTYPES
from tests import tiny

NUMPY = tuple(d.name for d in DTYPES if d.numpy is not None and d.numpy.kind in "biuf")
"""The twelve numeric types that numpy and ORT's CPU provider share."""
FOREIGN = ("bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
ONNX = {d.name: d.onnx for d in DTYPES}
_ADDS = ("float32", "float64", "int32", "int64")


def _strided(a: Any) -> Any:
    wide = np.zeros((*a.shape[:-1], a.shape[-1] * 2), a.dtype) if a.ndim else a
    return _filled(wide[..., ::2], a) if a.ndim else a


def _filled(target: Any, a: Any) -> Any:
    target[...] = a
    return target


def _sliced(a: Any) -> Any:
    if not a.ndim:
        return a
    return _filled(np.zeros([n + 3 for n in a.shape], a.dtype)[tuple(slice(1, n + 1) for n in a.shape)], a)


def _unaligned(a: Any) -> Any:
    raw = np.zeros(a.nbytes + 1, np.uint8)[1:]
    return _filled(raw.view(a.dtype).reshape(a.shape), a) if a.size else a


def _read_only(a: Any) -> Any:
    a = a.copy()
    a.flags.writeable = False
    return a


def _broadcast(a: Any) -> Any:
    return np.broadcast_to(a[:1], a.shape) if a.ndim and a.shape[0] else a


class Sub(np.ndarray[Any, Any]):
    """A subclass, as memmap and matrix are."""


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "C": lambda a: a.copy(),
    "Fortran": lambda a: np.array(a, order="F"),
    "transposed": lambda a: np.array(a.T, order="C").T,
    "strided": _strided,
    "reversed": lambda a: a[tuple([slice(None, None, -1)] * a.ndim)],
    "sliced": _sliced,
    "unaligned": _unaligned,
    "read-only": _read_only,
    "broadcast": _broadcast,
    "subclass": lambda a: a.copy().view(Sub),
}


def dtype_of(name: str) -> Any:
    if name in NUMPY:
        return np.dtype(name)
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))


def values(name: str, shape: Sequence[int], seed: int) -> Any:
    """Any bits at all; numbers that can be added without a warning where the model adds."""
    rng = np.random.default_rng(seed)
    dtype = dtype_of(name)
    if name == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if name in _ADDS:
        return np.asarray(rng.integers(-1000, 1000, shape)).astype(dtype)
    count = int(np.prod(shape, dtype=int))
    raw = rng.integers(0, 256, count * dtype.itemsize, dtype=np.uint8)
    return raw.view(dtype).reshape(shape)


def model(names: Sequence[str], ranks: Sequence[int]) -> onnx.ModelProto:
    """y0 = x0 (+ x0 where that type can), y1 = …; axes without names."""
    nodes, inputs, outputs = [], [], []
    for n, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        op, source = ("Add", [f"x{n}", f"x{n}"]) if name in _ADDS else ("Identity", [f"x{n}"])
        nodes.append(tiny.node(op, source, [f"y{n}"]))
        inputs.append(tiny.info(f"x{n}", ONNX[name], [None] * rank))
        outputs.append(tiny.info(f"y{n}", ONNX[name], [None] * rank))
    built = tiny.model(nodes, inputs, outputs, opset=21)
    built.ir_version = 10
    return built


@cache
def opened(folder: Path, names: tuple[str, ...], ranks: tuple[int, ...]) -> Runner:
    path = folder / f"{'-'.join(names)}-{'-'.join(map(str, ranks))}.onnx"
    return hotlap.open(tiny.save(model(names, ranks), path), threads=1, warm=False)


def expected(name: str, array: Any) -> Any:
    """What the model gives, by numpy alone."""
    clean = np.array(array, order="C", subok=False).astype(dtype_of(name), copy=False)
    return clean + clean if name in _ADDS else clean


def same_bits(a: Any, b: Any) -> bool:
    return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())
