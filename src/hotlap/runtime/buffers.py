"""Arrays that outputs are written into: what makes one fit, and how to make one that does.

ORT writes into a bound array whatever its flags say: read-only memory, memory of another layout, memory that
an input of the same call is read from. So each is looked at before the model runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hotlap.errors import InputError, UsageError
from hotlap.runtime.arrays import from_dlpack
from hotlap.runtime.packed import ForeignTensor
from hotlap.tensors import TensorSpec, is_masked, nearest, shape_problems

__all__ = ["check_out", "empty_array", "follow", "sizes_in"]

Array = npt.NDArray[Any]
Shape = tuple[int, ...]


def check_out(
    outputs: Sequence[TensorSpec],
    out: Mapping[str, Any],
    feed: Mapping[str, Any],
    shapes: Mapping[str, Shape],
) -> dict[str, Any]:
    """The arrays to write into, by output name; memory of another library as an array or a `ForeignTensor`.

    Args:
        outputs: the model's.
        out: what the caller gave.
        feed: the arrays that the model will read.
        shapes: the shapes that outputs will have, where that is known.

    Raises:
        InputError: unknown names; arrays that are read-only, of another type, shape or byte order, not
            C-contiguous or not aligned; that share memory with an input or with each other. All at once.
    """
    specs = {s.name: s for s in outputs}
    problems: list[str] = []
    targets: dict[str, Any] = {}
    for name, value in out.items():
        if name not in specs:
            hint = nearest(str(name), specs)
            problems.append(f'out "{name}": no such output{hint}; it gives {", ".join(specs)}')
            continue
        target, problem = _target(specs[name], value)
        problem = problem or _shape_problem(specs[name], target.shape, shapes.get(name))
        problem = problem or _overlap(target, feed, targets)
        if problem:
            problems.append(f'out "{name}": {problem}')
        else:
            targets[name] = target
    if problems:
        raise InputError(problems)
    return targets


def _target(spec: TensorSpec, value: Any) -> tuple[Any, str]:
    kind = spec.dtype
    if kind is None or kind.name == "string" or kind.bits < 8:
        return None, f"{spec.label} cannot be written in place"
    if not isinstance(value, np.ndarray):
        if not hasattr(value, "__dlpack__"):
            return None, f"{type(value).__name__} given, expected an array to write into"
        return _lent(spec, value)
    if is_masked(value):
        return None, "masked array given: its mask would go stale"
    fits = value.dtype == kind.numpy if kind.numpy is not None else value.dtype.name == kind.name
    if not (fits and value.dtype.isnative):
        order = "" if value.dtype.isnative else " of foreign byte order"
        return None, f"got {value.dtype.name}{order}, expected {kind.name}"
    flags = value.flags
    for bad, what in (
        (not flags.writeable, "read-only"),
        (not flags.c_contiguous, "not C-contiguous"),
        (not flags.aligned, "not aligned"),
    ):
        if bad:
            return None, f"the array is {what}"
    return value, ""


def _lent(spec: TensorSpec, value: Any) -> tuple[Any, str]:
    """What another library lends. Its own flags are its own; ORT takes contiguous memory alone."""
    made, problem = from_dlpack(spec, value)
    if problem or isinstance(made, ForeignTensor):
        return made, problem
    if made.dtype != spec.dtype.numpy:  # type: ignore[union-attr]
        return None, f"got {type(value).__name__} of {made.dtype.name}, expected {spec.dtype.name}"  # type: ignore[union-attr]
    if not made.flags.c_contiguous:
        return None, "the array is not C-contiguous"
    if not made.flags.writeable:
        return None, f"{type(value).__name__} lends its memory read-only"
    return made, ""


def _shape_problem(spec: TensorSpec, have: Shape, want: Shape | None) -> str:
    if want is not None:
        return "" if have == want else f"got shape {list(have)}, the model gives {list(want)}"
    return "; ".join(shape_problems(spec, have, {}))


def _overlap(target: Any, feed: Mapping[str, Any], others: Mapping[str, Any]) -> str:
    mine = _bounds(target)
    for what, arrays in (("input", feed), ("out", others)):
        for name, value in arrays.items():
            for part in value if isinstance(value, list) else [value]:
                start, end = _bounds(part)
                if start < mine[1] and mine[0] < end:
                    return f'it shares memory with {what} "{name}"'
    return ""


def _bounds(value: Any) -> tuple[int, int]:
    """Where the memory begins and ends; arrays of text have none that matters."""
    if isinstance(value, ForeignTensor):
        start = value.value.data_ptr()
        return start, start + value.value.tensor_size_in_bytes()
    if value.dtype == object or value.size == 0:
        return 0, 0
    start = end = value.ctypes.data
    for size, stride in zip(value.shape, value.strides, strict=True):
        start, end = start + min(0, (size - 1) * stride), end + max(0, (size - 1) * stride)
    return start, end + value.itemsize


# ── making one ────────────────────────────────────────────────────────────────────────────────────────


def empty_array(spec: TensorSpec, shape: Sequence[int]) -> Array:
    """An array of the spec's type, its values whatever lay there.

    Raises:
        InputError: the shape does not fit the spec.
        UsageError: the spec is no tensor of a type that numpy has.
    """
    kind = spec.dtype
    if kind is None or kind.numpy is None or kind.name == "string":
        raise UsageError(f'"{spec.name}" is {spec.label}: there is no buffer for that')
    shape = tuple(int(n) for n in shape)
    problems = shape_problems(spec, shape, {})
    if problems:
        raise InputError([f'"{spec.name}": {p}' for p in problems])
    return np.empty(shape, kind.numpy)


def sizes_in(inputs: Sequence[TensorSpec], shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """What the inputs' shapes say about symbols."""
    return {
        dim: int(size)
        for spec in inputs
        if spec.name in shapes
        for dim, size in zip(spec.shape, shapes[spec.name], strict=False)
        if isinstance(dim, str)
    }


def follow(spec: TensorSpec, sizes: Mapping[str, int]) -> Shape | None:
    """The spec's shape with its symbols filled in; None where the sizes do not say all."""
    filled = [sizes.get(d) if isinstance(d, str) else d for d in spec.shape]
    known = tuple(n for n in filled if n is not None)
    return known if spec.ranked and len(known) == len(filled) else None
