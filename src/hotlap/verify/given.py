"""What a caller names on the command line: inputs and labels, by the file or the function they come from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hotlap.bench import load_feeds
from hotlap.bench.npz import read_npy, read_npz
from hotlap.bench.target import names_callable
from hotlap.errors import InputError, UsageError
from hotlap.tensors import nearest
from hotlap.verify.source import FeedSource

__all__ = ["given_data", "given_labels"]

Feed = dict[str, Any]


def given_data(where: str, rows: bool = False) -> list[Feed] | FeedSource:
    """Inputs: a .npz file, a folder of them, a .parquet file, or ``module:function`` that yields feeds.

    Args:
        where: of these; the function's module is looked for in the working folder first.
        rows: each .npz holds many feeds along axis 0.

    Raises:
        UsageError, InputError, MissingExtra: as `load_feeds`.
    """
    if names_callable(where):
        return FeedSource(function=where, folder=str(Path.cwd()))
    return list(load_feeds(where, rows=rows))


def given_labels(where: str, data: Sequence[Feed] | FeedSource | None) -> list[Any]:
    """Labels: a .npy file, a .npz file of one array, a .json list, a text file with one a line; or the name
    of a column of the inputs (a .parquet file's, mostly), which is taken out of them: of inputs with one row
    a label each, else an array of labels for each input.

    Raises:
        UsageError: nothing of that name.
        InputError: the file is broken, or holds more than one array.
    """
    path = Path(where)
    if path.is_file():
        return _read(path)
    if isinstance(data, Sequence) and data and all(where in feed for feed in data):
        return _one_for_each([feed.pop(where) for feed in data])
    columns = list(data[0]) if isinstance(data, Sequence) and data else []
    raise UsageError(f'labels: no file "{where}", and no input of that name{nearest(where, columns)}')


def _one_for_each(column: list[Any]) -> list[Any]:
    """A label for each input; an array of them where any input has one for each of several rows."""
    if all(np.size(cell) and len(np.atleast_1d(cell)) == 1 for cell in column):
        return [np.atleast_1d(cell)[0] for cell in column]
    return [np.atleast_1d(cell) for cell in column]


def _read(path: Path) -> list[Any]:
    if path.suffix == ".npy":
        return list(read_npy(path))
    if path.suffix == ".npz":
        arrays = read_npz(path)
        if len(arrays) != 1:
            raise InputError(f"{path}: holds {len(arrays)} arrays; labels are one")
        return list(next(iter(arrays.values())))
    try:
        text = path.read_text("utf-8")
        if path.suffix != ".json":
            return text.splitlines()
        labels = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not readable as labels: {error}") from error
    if not isinstance(labels, list):
        raise InputError(f"{path}: holds {type(labels).__name__}; labels are a list")
    return labels
