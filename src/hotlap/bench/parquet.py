"""Inputs in a .parquet file: a column for each input, a row for each feed.

A cell is a number, a text, a list of numbers, or lists of equal lengths in one another; fixed-size lists and
tensors keep their shape. Every array of a feed begins with an axis of size 1: the row.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hotlap.errors import InputError, MissingExtra

__all__ = ["read_parquet"]

Feed = dict[str, npt.NDArray[Any]]


def read_parquet(path: Path) -> list[Feed]:
    """The feeds of a .parquet file, in the order of its rows.

    Raises:
        InputError: missing, broken, without a row; or a cell is empty, or a column holds what is no array.
        MissingExtra: pyarrow is not installed.
    """
    try:
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingExtra("parquet", f"{path}: reading Parquet") from error
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        table = parquet.read_table(path)
    except Exception as error:  # pyarrow's errors share no base class but Python's own
        raise InputError(f"{path}: not a readable .parquet file: {' '.join(str(error).split())}") from error
    if not table.num_rows or not table.num_columns:
        raise InputError(f"{path}: holds no row")
    columns = {name: _cells(table.column(name), f'{path}: column "{name}"') for name in table.column_names}
    return [{name: cells[row] for name, cells in columns.items()} for row in range(table.num_rows)]


def _cells(column: Any, where: str) -> list[npt.NDArray[Any]]:
    """Each cell as an array with an axis of size 1 in front."""
    if column.null_count:
        raise InputError(f"{where}: {column.null_count} cells are empty")
    array = column.combine_chunks()
    array = array.chunk(0) if hasattr(array, "num_chunks") else array
    shape = tuple(getattr(array.type, "shape", None) or ())
    if shape:  # a tensor lies there as one flat list of fixed size
        array = array.storage
    element = array.type
    while hasattr(element, "value_type"):
        element = element.value_type
    dtype = _dtype(element, where)
    sizes: list[int] = []
    flat = array
    while hasattr(flat.type, "list_size"):
        sizes.append(flat.type.list_size)
        flat = flat.flatten()
    try:
        if flat.type == element and dtype is not np.str_:
            if flat.null_count:
                raise ValueError(f"{flat.null_count} numbers are missing")
            whole = flat.to_numpy(zero_copy_only=False).reshape(len(array), *(shape or sizes))
            return [whole[row : row + 1] for row in range(len(array))]
        return [np.asarray(cell, dtype)[np.newaxis] for cell in array.to_pylist()]
    except (ValueError, TypeError) as error:
        raise InputError(f"{where}: its lists have no one shape, or empty places: {error}") from error


def _dtype(element: Any, where: str) -> Any:
    if str(element) in ("string", "large_string", "string_view"):
        return np.str_
    try:
        dtype = np.dtype(element.to_pandas_dtype())
    except (NotImplementedError, TypeError) as error:
        raise InputError(f"{where}: holds {element}, which is no array") from error
    if dtype.kind not in "fiub":
        raise InputError(f"{where}: holds {element}, which is no array")
    return dtype
