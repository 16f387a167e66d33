"""Reading .npy and .npz files that may come from anywhere: nothing is unpickled, and no size is believed."""

from __future__ import annotations

import math
import stat
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from hotlap.errors import InputError

__all__ = ["read_npy", "read_npz"]

Array = npt.NDArray[Any]

_HEADER_ERRORS = (ValueError, SyntaxError, TypeError, RecursionError, tokenize.TokenError)
"""What numpy raises on a header that is none: it reads it as a Python literal."""
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError)
"""What Python raises on an archive that is broken, encrypted, or packed in a way it does not know."""


def read_npy(path: Path) -> Array:
    """The array of a .npy file.

    Raises:
        InputError: missing, broken, cut short, or it holds Python objects.
    """
    try:
        _refuse_what_is_no_file(path)
        with path.open("rb") as file:
            return _array(file, path.stat().st_size, str(path))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error


def read_npz(path: Path) -> dict[str, Array]:
    """The arrays of a .npz file, by name.

    Raises:
        InputError: missing, no archive, broken, or it holds a name twice or Python objects.
    """
    try:
        _refuse_what_is_no_file(path)
        with zipfile.ZipFile(path) as archive:
            feed: dict[str, Array] = {}
            for info in archive.infolist():
                name = info.filename.removesuffix(".npy")
                if name in feed:
                    raise InputError(f'{path}: holds "{name}" twice')
                with archive.open(info) as file:
                    feed[name] = _array(file, info.file_size, f"{path}: {name}")
            return feed
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except _ZIP_ERRORS as error:
        raise InputError(f"{path}: not a readable .npz: {error}") from error


def _refuse_what_is_no_file(path: Path) -> None:
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):  # reading a pipe could wait for ever
        raise InputError(
            f"{path}: a folder, not a file" if stat.S_ISDIR(mode) else f"{path}: no regular file"
        )


def _array(file: IO[bytes], size: int, where: str) -> Array:
    """One array in .npy form, never unpickled. The header is read first: it may claim any size."""
    try:
        version = np.lib.format.read_magic(file)
        header = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        shape, fortran, dtype = header(file)
        if dtype.hasobject:
            raise InputError(
                f"{where}: holds Python objects, which are never unpickled; save text as a str array"
            )
        if math.prod(shape) * dtype.itemsize > size - file.tell():
            raise InputError(
                f"{where}: cut short: its header says {dtype}{list(shape)}, the file has {size} bytes"
            )
        data = bytearray(math.prod(shape) * dtype.itemsize)
        if file.readinto(data) != len(data):  # type: ignore[attr-defined]  # both kinds of file have it
            raise InputError(f"{where}: cut short")
        return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")
    except (*_HEADER_ERRORS, EOFError, MemoryError) as error:
        said = " ".join(str(error).split())
        said = said if len(said) <= 40 else said[:39] + "…"
        raise InputError(f"{where}: not a readable .npy array: {said}") from error
