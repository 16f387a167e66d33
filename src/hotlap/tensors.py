"""What a model takes and gives: `TensorSpec`, the table of ONNX element types, and the input check.

Pure numpy: this is the lowest room, and both the serving path and the tools stand on it.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hotlap.errors import InputError

__all__ = [
    "DTYPES",
    "DType",
    "Dim",
    "TensorSpec",
    "as_array",
    "check_feed",
    "is_masked",
    "nearest",
    "shape_problems",
]

Dim = int | str | None
"""One axis: a fixed size, a symbol (equal symbols mean equal sizes), or None where nothing is known."""

Array = npt.NDArray[Any]

_MOST_NAMES = 64
"""A feed may come from a client that sends a million wrong names: the answer stays short and quick."""


@dataclass(frozen=True, slots=True)
class DType:
    """One ONNX element type under each of its names.

    Attributes:
        name: numpy's (or ml_dtypes') name, e.g. ``"float32"``; ``"string"`` for text.
        onnx: the number in ``onnx.TensorProto.DataType``.
        ort: what ``NodeArg.type`` says, e.g. ``"tensor(float)"``.
        protocol: the name in the Open Inference Protocol, e.g. ``"FP32"``; None where it has none.
        numpy: the numpy dtype; None where numpy alone has none (bfloat16, float8, 4 bits); object for text.
        bits: size of one element in bits; 0 for text, which has no fixed size.

    Source: onnx.proto3 (DataType), the KServe v2 "Tensor Data Types" table, and ORT's type strings.
    """

    name: str
    onnx: int
    ort: str
    protocol: str | None
    numpy: np.dtype[Any] | None
    bits: int

    @property
    def is_float(self) -> bool:
        return self.name.startswith(("float", "bfloat"))

    @property
    def is_integer(self) -> bool:
        return self.name.startswith(("int", "uint"))


def _row(name: str, onnx: int, ort: str, protocol: str | None, bits: int, numpy: Any = None) -> DType:
    return DType(name, onnx, f"tensor({ort})", protocol, None if numpy is None else np.dtype(numpy), bits)


DTYPES: tuple[DType, ...] = (
    _row("float32", 1, "float", "FP32", 32, np.float32),
    _row("uint8", 2, "uint8", "UINT8", 8, np.uint8),
    _row("int8", 3, "int8", "INT8", 8, np.int8),
    _row("uint16", 4, "uint16", "UINT16", 16, np.uint16),
    _row("int16", 5, "int16", "INT16", 16, np.int16),
    _row("int32", 6, "int32", "INT32", 32, np.int32),
    _row("int64", 7, "int64", "INT64", 64, np.int64),
    _row("string", 8, "string", "BYTES", 0, np.object_),
    _row("bool", 9, "bool", "BOOL", 8, np.bool_),
    _row("float16", 10, "float16", "FP16", 16, np.float16),
    _row("float64", 11, "double", "FP64", 64, np.float64),
    _row("uint32", 12, "uint32", "UINT32", 32, np.uint32),
    _row("uint64", 13, "uint64", "UINT64", 64, np.uint64),
    _row("complex64", 14, "complex64", None, 64, np.complex64),
    _row("complex128", 15, "complex128", None, 128, np.complex128),
    _row("bfloat16", 16, "bfloat16", "BF16", 16),
    _row("float8_e4m3fn", 17, "float8e4m3fn", None, 8),
    _row("float8_e4m3fnuz", 18, "float8e4m3fnuz", None, 8),
    _row("float8_e5m2", 19, "float8e5m2", None, 8),
    _row("float8_e5m2fnuz", 20, "float8e5m2fnuz", None, 8),
    _row("uint4", 21, "uint4", None, 4),
    _row("int4", 22, "int4", None, 4),
    _row("float4_e2m1fn", 23, "float4e2m1", None, 4),
    _row("float8_e8m0fnu", 24, "float8e8m0", None, 8),
    _row("uint2", 25, "uint2", None, 2),
    _row("int2", 26, "int2", None, 2),
    _row("float6_e2m3fn", 27, "float6e2m3", None, 6),
    _row("float6_e3m2fn", 28, "float6e3m2", None, 6),
)
_BY_ORT = {d.ort: d for d in DTYPES}
_BY_NAME = {d.name: d for d in DTYPES}


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """The name, element type and shape of one input or output.

    Attributes:
        name: as the model spells it.
        type: ORT's own word, e.g. ``"tensor(float)"``, ``"seq(map(int64,tensor(float)))"``.
        shape: one `Dim` per axis; ``()`` for a scalar and for what is no tensor.
        ranked: False where the model does not even say how many axes there are; `shape` is then ``()``.
    """

    name: str
    type: str
    shape: tuple[Dim, ...] = ()
    ranked: bool = True

    @classmethod
    def of(cls, name: str, dtype: str, shape: Sequence[Dim]) -> TensorSpec:
        """A spec by dtype name: ``TensorSpec.of("x", "float32", ["batch", 3])``.

        Raises:
            KeyError: the dtype is not one of `DTYPES`.
        """
        return cls(name, _BY_NAME[dtype].ort, tuple(shape))

    @classmethod
    def declared(cls, name: str, type_: str, shape: Sequence[object] | None) -> TensorSpec:
        """A spec from what a file declares; `shape` is None where it declares none.

        An axis named "" or "?" is an axis nobody named: two of them need not be equal, so they become
        None. A negative size is how some exporters write "unknown".
        """

        def dim(d: object) -> Dim:
            if isinstance(d, int):
                return d if d >= 0 else None
            return d if isinstance(d, str) and d.strip("? ") else None

        return cls(name, type_, tuple(dim(d) for d in shape or ()), ranked=shape is not None)

    @property
    def dtype(self) -> DType | None:
        """The element type; None for sequences, maps, optionals and sparse tensors."""
        return _BY_ORT.get(self.type)

    @property
    def label(self) -> str:
        """For people: ``float32[batch, 3, 224, 224]``; ORT's word where it is no tensor."""
        if self.dtype is None:
            return self.type
        if not self.ranked:
            return f"{self.dtype.name}[...]"
        return f"{self.dtype.name}[{', '.join('?' if d is None else str(d) for d in self.shape)}]"


def nearest(word: str, known: Iterable[str]) -> str:
    """`` (did you mean "x"?)``, or nothing where no known word is near. Case alone never hides a match."""
    known = list(known)
    folded = {k.casefold(): k for k in known}
    near = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    return f' (did you mean "{folded[near[0]]}"?)' if near else ""


def as_array(spec: TensorSpec, value: Any) -> tuple[Array | None, str]:
    """The value as an array of the spec's element type; or None and what is wrong with it.

    Nothing is copied unless the byte order is foreign, the value is text, or it is no array yet.
    """
    return _as_array(spec, value)


def check_feed(
    specs: Sequence[TensorSpec],
    feed: Mapping[str, Any],
    convert: Callable[[TensorSpec, Any], tuple[Any, str]] = as_array,
) -> dict[str, Any]:
    """The feed as arrays that fit the specs, in the specs' order; or every problem at once.

    An array must already have the model's element type: a cast can lose values, so it is the caller's to
    ask for. Python lists and numbers have no element type yet, so they take the model's where no value is
    lost. Nothing is copied unless the byte order is foreign or the array is text.

    Args:
        specs: the model's inputs.
        feed: name to array (or list, or number; text as str).
        convert: turns one value into what the caller runs, something with a `shape` where the spec is a
            tensor; or into None and what is wrong. `None` that is nothing wrong is left out.

    Raises:
        InputError: names unknown or missing, wrong element type, rank or fixed size, or axes that share a
            symbol and differ in size. One line for each problem.
    """
    if not isinstance(feed, Mapping):
        names = ", ".join(s.name for s in specs) or "none"
        raise InputError(
            f"the feed is {type(feed).__name__}, expected a dict of input name to array; inputs: {names}"
        )
    problems = _name_problems(specs, feed)
    arrays: dict[str, Any] = {}
    sizes: dict[str, tuple[int, str]] = {}
    for spec in specs:
        if spec.name not in feed:
            continue
        array, problem = convert(spec, feed[spec.name])
        if problem:
            problems.append(f'input "{spec.name}": {problem}')
        if array is None:
            continue
        if spec.dtype is not None:
            problems += [f'input "{spec.name}": {p}' for p in shape_problems(spec, array.shape, sizes)]
        arrays[spec.name] = array
    if problems:
        raise InputError(problems)
    return arrays


def _name_problems(specs: Sequence[TensorSpec], feed: Mapping[str, Any]) -> list[str]:
    names = [s.name for s in specs]
    known = set(names)
    extra = [n for n in feed if n not in known]
    missing = [s.name for s in specs if s.name not in feed and not s.type.startswith("optional")]
    hints = {n: nearest(str(n), missing or names) for n in extra[:_MOST_NAMES]}
    takes = ", ".join(names[:_MOST_NAMES]) + (", …" if len(names) > _MOST_NAMES else "") or "none"
    lines = [
        f'input "{n}": the model has no input of that name{hint}; it takes {takes}'
        for n, hint in hints.items()
    ]
    if len(extra) > len(lines):
        lines.append(f"and {len(extra) - len(lines):,} more names that the model does not have")
    return lines + [f'input "{n}": missing from the feed' for n in missing]


def is_masked(value: Any) -> bool:
    """Whether it is a numpy.ma.MaskedArray; numpy.ma is not loaded for it, since that takes milliseconds."""
    masked = sys.modules.get("numpy.ma")
    return masked is not None and isinstance(value, masked.MaskedArray)


def _as_array(spec: TensorSpec, value: Any) -> tuple[Array | None, str]:
    dtype = spec.dtype
    if dtype is None:
        return None, f"{spec.type} cannot be fed as an array"
    if value is None:
        return None, f"None given, expected {spec.label}"
    if dtype.name == "string":
        return _as_text(spec, value)
    if dtype.numpy is None:
        return None, f"{dtype.name} has no numpy dtype, so it cannot be fed as an array"
    if is_masked(value):
        return None, "masked array given: its mask would be lost; fill it first with .filled(value)"
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        # Only the older kinds of dtype have a byte order to change.
        native = array.dtype.newbyteorder("=") if array.dtype.kind in "biufcV" else array.dtype
        if native != dtype.numpy:
            return None, f"got {array.dtype.name}, expected {dtype.name}{_cast_hint(array.dtype, dtype)}"
        # ORT reads foreign byte order as if it were native, and answers with garbage.
        return (array if array.dtype.isnative else array.astype(dtype.numpy)), ""
    return _from_python(spec, dtype, value)


def _cast_hint(have: np.dtype[Any], want: DType) -> str:
    return f'; convert it with .astype("{want.name}")' if have.kind in "biufc" else ""


def _from_python(spec: TensorSpec, dtype: DType, value: Any) -> tuple[Array | None, str]:
    """A list, a number, or anything numpy can read, as the model's own type where no value is lost."""
    try:
        found = np.asarray(value)
    except (ValueError, TypeError, OverflowError) as error:
        return None, f"not an array: {error}"
    if isinstance(value, list | tuple | int | float | bool):
        assert dtype.numpy is not None
        if found.size == 0:
            return found.astype(dtype.numpy), ""
        order = "biufc"
        if found.dtype.kind in order and order.index(found.dtype.kind) <= _kind_rank(dtype.numpy, order):
            return _fits(found, dtype)
    elif found.dtype == dtype.numpy:
        return found, ""
    return None, f"got {type(value).__name__} of {found.dtype.name}, expected {spec.label}"


def _kind_rank(dtype: np.dtype[Any], order: str) -> int:
    # Signed and unsigned take each other's Python integers; `_fits` refuses the values that do not fit.
    return order.index("u" if dtype.kind == "i" else dtype.kind)


def _fits(found: Array, dtype: DType) -> tuple[Array | None, str]:
    assert dtype.numpy is not None
    if found.dtype.kind in "iu" and dtype.is_integer:
        info = np.iinfo(dtype.numpy)
        if int(found.min()) < info.min or int(found.max()) > info.max:
            return None, f"holds values outside {dtype.name} ({info.min} to {info.max})"
    if found.dtype.kind in "iuf" and dtype.is_float:
        limit = float(np.finfo(dtype.numpy).max)
        wide = found.astype(np.float64)
        if bool((np.isfinite(wide) & (np.abs(wide) > limit)).any()):
            return None, f"holds values outside {dtype.name} (up to {limit:g})"
    array = found.astype(dtype.numpy)
    if found.dtype.kind in "iu" and dtype.numpy.kind in "fc":
        lost = _rounded(found, array)
        if lost is not None:
            return None, f"holds integers that {dtype.name} rounds: {lost}"
    return array, ""


def _rounded(integers: Array, floats: Array) -> int | None:
    """The first integer that is another one as a float. Compared as Python's: a cast back may overflow."""
    exact = 2 ** (np.finfo(floats.dtype).nmant + 1)  # up to here every integer is itself
    large = (integers > exact) | (integers < -exact)
    pairs = zip(integers[large].tolist(), floats[large].real.tolist(), strict=True)
    return next((i for i, f in pairs if i != int(f)), None)


def _as_text(spec: TensorSpec, value: Any) -> tuple[Array | None, str]:
    """Text as an object array of str, the only kind of text that ORT reads safely.

    ORT reads a fixed-width bytes array past each cell's end (neighbours and stray memory come back), turns
    an object array's bytes into "b'…'" and None into "None".
    """
    try:
        array = np.asarray(value, dtype=object)
    except (ValueError, TypeError) as error:
        return None, f"not an array: {error}"
    out = np.empty(array.shape, dtype=object)
    for index, cell in np.ndenumerate(array):
        if isinstance(cell, bytes):
            try:
                out[index] = cell.decode("utf-8")
            except UnicodeDecodeError:
                return None, f"cell {list(index)} holds bytes that are not UTF-8"
        elif isinstance(cell, str):
            if not cell.isascii() and any("\ud800" <= letter <= "\udfff" for letter in cell):
                return None, f"cell {list(index)} holds half of a surrogate pair, which is no text"
            out[index] = str(cell)
        else:
            return (
                None,
                f"cell {list(index)} is {type(cell).__name__}, expected {spec.label}: str or UTF-8 bytes",
            )
    return out, ""


def shape_problems(spec: TensorSpec, shape: tuple[int, ...], sizes: dict[str, tuple[int, str]]) -> list[str]:
    """What of the shape does not fit the spec. `sizes` holds what symbols were seen to be, and where; it
    grows."""
    want = spec.shape
    if not spec.ranked:
        return []
    if len(shape) != len(want):
        hint = ""
        if len(shape) == len(want) - 1:
            hint = "; the leading axis is missing: add it with array[None]"
        return [f"got {len(shape)} axes {list(shape)}, expected {len(want)}: {spec.label}{hint}"]
    problems = []
    for axis, (size, dim) in enumerate(zip(shape, want, strict=True)):
        if isinstance(dim, int) and dim != size:
            problems.append(f"axis {axis} has size {size}, expected {dim}: {spec.label}")
        elif isinstance(dim, str):
            first, where = sizes.setdefault(dim, (size, f'"{spec.name}" axis {axis}'))
            if first != size:
                problems.append(f'axis {axis} ("{dim}") has size {size}, but {where} gave "{dim}" = {first}')
    return problems
