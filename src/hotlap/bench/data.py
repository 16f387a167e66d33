"""The user's inputs on disk: one .npz is one feed, a folder of them is many; so is a .parquet file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy.typing as npt

from hotlap.bench.npz import read_npz
from hotlap.bench.parquet import read_parquet
from hotlap.errors import InputError, UsageError
from hotlap.plan.files import storage_error
from hotlap.runtime.npz import write_npz

__all__ = ["load_feeds", "save_feeds"]

Feed = dict[str, npt.NDArray[Any]]


def load_feeds(path: str | Path, rows: bool = False) -> list[Feed]:
    """Feeds, by the name of each input.

    Args:
        path: a ``.npz`` file (one feed as given), a folder of them (many, in the order of their names), or a
            ``.parquet`` file (a feed for each row, see `hotlap.bench.parquet`).
        rows: split axis 0 of every array, so that a file of n rows is n feeds of one row (the axis stays).

    Returns:
        one or more feeds. Text is a unicode array.

    Raises:
        UsageError: nothing there, or no .npz in the folder.
        InputError: a file is broken, empty, holds pickled objects, or its arrays differ on axis 0 (``rows``).
        MissingExtra: pyarrow is not installed, and the file is Parquet.
    """
    if Path(path).suffix == ".parquet":
        return read_parquet(Path(path))
    feeds = [_load(file) for file in _files(Path(path))]
    return [row for feed in feeds for row in _split(feed, path)] if rows else feeds


def save_feeds(folder: Path, feeds: list[Feed], first: int = 0) -> Path:
    """Write feeds as a folder that `load_feeds` reads back in the same order. Returns the folder.

    The files are named by number, from `first`.

    Raises:
        StorageError: no room for them.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number, feed in enumerate(feeds, first):
            write_npz(folder / f"{number:06}.npz", feed)
    except OSError as error:
        raise storage_error(folder, error) from error
    return folder


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found = sorted(p for p in path.iterdir() if p.suffix == ".npz")
        if not found:
            raise UsageError(f"{path}: no .npz file in this folder")
        return found
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder")
    if path.suffix != ".npz":
        raise UsageError(
            f"{path}: not a .npz file (or .parquet); numpy.savez writes one, with an array for each input"
        )
    return [path]


def _load(file: Path) -> Feed:
    feed = read_npz(file)
    if not feed:
        raise InputError(f"{file}: holds no array")
    return feed


def _split(feed: Feed, where: str | Path) -> list[Feed]:
    counts = {name: array.shape[0] if array.ndim else None for name, array in feed.items()}
    sizes = set(counts.values())
    if len(sizes) != 1 or None in sizes:
        told = ", ".join(f'"{n}" has {"no axis" if c is None else c}' for n, c in counts.items())
        raise InputError(f"{where}: rows need the same size on axis 0 of every array: {told}")
    (count,) = sizes
    if not count:
        raise InputError(f"{where}: holds no row")
    return [{name: array[n : n + 1] for name, array in feed.items()} for n in range(count)]
