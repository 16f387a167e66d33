"""Arrays between the command line and files: what ``--input`` says, and one file for each output."""

from __future__ import annotations

import contextlib
import json
import math
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hotlap.bench.npz import read_npy, read_npz
from hotlap.errors import InputError, UsageError
from hotlap.plan.files import storage_error
from hotlap.tensors import TensorSpec

__all__ = ["file_names", "plain", "read_inputs", "write_outputs"]

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 100
_WINDOWS_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def read_inputs(texts: Sequence[str], specs: Sequence[TensorSpec]) -> dict[str, Any]:
    """The feed that ``--input`` options give.

    Args:
        texts: each ``NAME=FILE.npy``, ``NAME=FILE.npz``, ``NAME=JSON``, or ``FILE.npz`` with names inside.
        specs: the model's inputs; a name with "=" in it is known from here.

    Raises:
        UsageError: an option has none of these forms, or gives a name twice.
        InputError: a file is missing, broken, or holds Python objects.
    """
    feed: dict[str, Any] = {}
    for text in texts:
        for name, value in _read(text, [s.name for s in specs]).items():
            if name in feed:
                raise UsageError(f'input "{name}" is given twice')
            feed[name] = value
    return feed


def _read(text: str, known: Sequence[str]) -> dict[str, Any]:
    name = max((n for n in known if text.startswith(f"{n}=")), key=len, default=None)
    if name is None and text.endswith(".npz") and ("=" not in text or Path(text).exists()):
        return read_npz(Path(text))
    if name is None:
        name, equals, _ = text.partition("=")
        if not equals:
            raise UsageError(f'--input "{text}": say NAME=FILE.npy, NAME=JSON, or FILE.npz')
    value = text[len(name) + 1 :]
    if value.endswith(".npy"):
        return {name: read_npy(Path(value))}
    if value.endswith(".npz"):
        return {name: _one_of(name, Path(value))}
    try:
        return {name: json.loads(value)}
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f'--input {name}=…: "{_short(value)}" is no .npy or .npz file and no JSON: [[1, 2]] or "text"'
        ) from error


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"


def _one_of(name: str, path: Path) -> Any:
    arrays = read_npz(path)
    if name in arrays:
        return arrays[name]
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    raise InputError(f'{path}: holds no array "{name}"; it holds {", ".join(arrays) or "nothing"}')


# ── writing ───────────────────────────────────────────────────────────────────────────────────────────


def write_outputs(folder: Path, results: Mapping[str, Any]) -> dict[str, Path]:
    """Each output as a file: .npy for arrays, .json for sequences and maps. All of them, or none.

    Returns:
        Output name to file. Names that a file cannot have, or that two outputs would share, are changed.

    Raises:
        StorageError: the disk is full, or there is no permission.
    """
    names = file_names(results)
    new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".hotlap-", dir=folder) as scratch:
            written = {n: _write(Path(scratch) / names[n], value) for n, value in results.items()}
            return {n: file.replace(folder / file.name) for n, file in written.items()}
    except OSError as error:
        if new:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise storage_error(folder, error) from error


def file_names(names: Sequence[str] | Mapping[str, Any]) -> dict[str, str]:
    """Output name to a file name without its ending: safe on every system, and no two alike.

    An output's name is whatever the model's author wrote: "a/b", "../../x", "", "CON".
    """
    taken: set[str] = set()
    files = {}
    for name in names:
        safe = _UNSAFE.sub("_", name).strip("._-")[:_LONGEST_NAME] or "output"
        if _WINDOWS_DEVICES.fullmatch(safe):
            safe = f"output_{safe}"
        candidate, number = safe, 2
        while candidate.casefold() in taken:  # some file systems know no upper case
            candidate, number = f"{safe}-{number}", number + 1
        taken.add(candidate.casefold())
        files[name] = candidate
    return files


def _write(stem: Path, value: Any) -> Path:
    if isinstance(value, np.ndarray):
        file = stem.with_name(f"{stem.name}.npy")
        with file.open("wb") as handle:
            np.lib.format.write_array(handle, _as_text(value), allow_pickle=False)
    else:
        file = stem.with_name(f"{stem.name}.json")
        file.write_text(json.dumps(plain(value)), encoding="utf-8")
    return file


def _as_text(array: Any) -> Any:
    return array.astype(np.str_) if array.dtype.hasobject else array


def plain(value: Any) -> Any:
    """A result as lists, dicts, numbers and text, as JSON can hold it."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if isinstance(value, bool | int | str | None) else str(value)
