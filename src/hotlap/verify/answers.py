"""A model's answers on disk and in parts: tensors, and sequences and maps of them, without pickles.

One answer is one .npz file: its tensors, and a JSON tree that says what they are part of.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hotlap.errors import StorageError
from hotlap.runtime.npz import write_npz

__all__ = [
    "Refused",
    "answer_file",
    "load_answer",
    "named",
    "normal",
    "parts",
    "same_table",
    "save_answer",
    "save_refusal",
]

Array = npt.NDArray[Any]
_TREE = "tree"
_REFUSED = "refused"


class Refused(dict[str, Any]):
    """What stands in place of an answer where the target did not take the input; `why` is one line."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self.why = why


def named(outputs: Any, names: Sequence[str]) -> Mapping[str, Any]:
    """What a target gave, as name to array: a callable may give a tensor, or several without names.

    Args:
        outputs: a mapping; or one array (or tensor of another library), or a list or tuple of them.
        names: of the outputs, in their order, where they have none; too few are filled up with "output_2" ….
    """
    if isinstance(outputs, Mapping):
        return {str(name): _plain(value) for name, value in outputs.items()}
    several = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
    known = [*names, *(f"output_{n}" for n in range(len(names), len(several)))]
    return {name: _plain(value) for name, value in zip(known, several, strict=False)}


def _plain(value: Any) -> Any:
    """Tensors of torch and others as arrays; everything else as it is."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    if isinstance(value, np.ndarray | np.generic | list | tuple | Mapping | str | bytes | int | float | None):
        return np.asarray(value) if isinstance(value, np.generic) else value
    return np.asarray(value)


def save_refusal(file: Path, why: str) -> None:
    """Notes that the target did not take the input.

    Raises:
        StorageError: no room.
    """
    _save(file, {_REFUSED: np.array(" ".join(why.split()))})


def answer_file(folder: Path, number: int) -> Path:
    """Where the answer to input `number` lies."""
    return folder / f"{number:06}.npz"


def save_answer(file: Path, outputs: Mapping[str, Any]) -> None:
    """Writes what one call gave.

    Args:
        file: to write.
        outputs: name to array, or to a list, dict, number, text or None as ORT gives them. Element types
            that numpy has not itself (bfloat16, float8) are kept as float32.

    Raises:
        StorageError: no room.
    """
    tensors: list[Array] = []
    tree = json.dumps({name: _plant(value, tensors) for name, value in normal(outputs).items()})
    _save(file, {_TREE: np.array(tree), **{f"t{n}": tensor for n, tensor in enumerate(tensors)}})


def _save(file: Path, arrays: Mapping[str, Array]) -> None:
    try:
        write_npz(file, arrays)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EACCES):
            raise
        raise StorageError(f"{file.parent}: no room for the answers: {error.strerror}") from error


def load_answer(file: Path) -> dict[str, Any]:
    """Reads what `save_answer` wrote; text comes back as unicode arrays, tuples as lists. A `Refused` where
    `save_refusal` wrote."""
    with np.load(file, allow_pickle=False) as archive:
        if _REFUSED in archive:
            return Refused(str(archive[_REFUSED]))
        tree = json.loads(str(archive[_TREE]))
        return {name: _grow(node, archive) for name, node in tree.items()}


def normal(value: Any) -> Any:
    """A value as it comes back from disk: text as unicode arrays, tuples as lists, scalars as Python's."""
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return value.astype(np.str_)
        return value.astype(np.float32) if value.dtype.kind == "V" else value
    if isinstance(value, Mapping):
        return {normal(key): normal(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [normal(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _plant(value: Any, tensors: list[Array]) -> dict[str, Any]:
    match value:
        case np.ndarray():
            tensors.append(value)
            return {"tensor": len(tensors) - 1}
        case dict():
            return {"map": [[key, _plant(item, tensors)] for key, item in value.items()]}
        case list():
            return {"list": [_plant(item, tensors) for item in value]}
        case None | bool() | int() | float() | str():
            return {"value": value}
        case _:
            return {"object": type(value).__name__}


def _grow(node: dict[str, Any], archive: Mapping[str, Array]) -> Any:
    ((kind, content),) = node.items()
    match kind:
        case "tensor":
            return archive[f"t{content}"]
        case "map":
            return {key: _grow(item, archive) for key, item in content}
        case "list":
            return [_grow(item, archive) for item in content]
        case _:
            return content


def parts(name: str, value: Any) -> tuple[Any, list[tuple[str, Array]]]:
    """A value as (form, arrays): equal forms can be compared array by array.

    The form holds element kinds, shapes, lengths and keys. A list of maps with the same keys and numbers (as
    classifiers give probabilities) becomes one array of a row for each map; other sequences and maps become
    one flat array for each kind of leaf.
    """
    if isinstance(value, np.ndarray):
        return _form(value), [(name, _real(value))]
    table = _table(value)
    if table is not None:
        return ("table", list(value[0]), table.shape, table.dtype.kind), [(name, table)]
    leaves: dict[str, list[Array]] = {}
    form = _gather(value, leaves)
    named = ((name if len(leaves) == 1 else f"{name} ({kind})", leaf) for kind, leaf in leaves.items())
    return form, [(label, np.concatenate([a.ravel() for a in leaf])) for label, leaf in named]


def same_table(form: Any, other: Any) -> bool:
    """Whether one form is a list of maps with the same keys, and the other the array that holds their
    numbers, a row for each map: what a classifier gives with and without its ZipMap."""
    table, array = (form, other) if form and form[0] == "table" else (other, form)
    return bool(
        table
        and table[0] == "table"
        and len(array) == 2
        and str(array[0]).startswith("float")
        and tuple(array[1]) == tuple(table[2])
    )


_KINDS = {"f": "floats", "c": "floats", "i": "integers", "u": "integers", "b": "booleans", "U": "texts"}


def _form(array: Array) -> tuple[str, tuple[int, ...]]:
    return ("text" if array.dtype.kind == "U" else array.dtype.name, array.shape)


def _real(array: Array) -> Array:
    return np.stack([array.real, array.imag], axis=-1) if array.dtype.kind == "c" else array


def _table(value: Any) -> Array | None:
    if not (isinstance(value, list) and value and all(isinstance(v, dict) and v for v in value)):
        return None
    keys = list(value[0])
    if any(list(row) != keys or not all(isinstance(v, float) for v in row.values()) for row in value):
        return None
    return _narrow(np.array([list(row.values()) for row in value]))


def _narrow(numbers: Array) -> Array:
    """Python's floats in the precision that they show: ONNX Runtime gives a float32 out of a map or a list as
    one of them, which is a float64 by its type."""
    with np.errstate(over="ignore"):
        single = numbers.astype(np.float32)
    return single if np.array_equal(single, numbers, equal_nan=True) else numbers


def _gather(value: Any, leaves: dict[str, list[Array]]) -> Any:
    if isinstance(value, list):
        return ("list", [_gather(item, leaves) for item in value])
    if isinstance(value, dict):
        return ("map", [(key, _gather(item, leaves)) for key, item in value.items()])
    if value is None:
        return "nothing"
    array = np.asarray(value)
    leaf = _narrow(array) if isinstance(value, float) else _real(array)
    leaves.setdefault(_KINDS.get(array.dtype.kind, "others"), []).append(leaf)
    return _form(array)
