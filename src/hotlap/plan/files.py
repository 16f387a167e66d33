"""Writing files whole: a reader sees the old file or the new one, never half of one."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

from hotlap.errors import StorageError, UsageError

__all__ = ["check_apart", "check_writable", "storage_error", "write_whole"]

_ADVICE = {
    errno.ENOSPC: "the disk is full; make room",
    errno.EFBIG: "the file is larger than this process or file system may write; raise the limit",
    errno.EACCES: "permission denied; write somewhere else, or change the folder's permissions",
    errno.EPERM: "permission denied; write somewhere else, or change the folder's permissions",
    errno.EROFS: "the file system is read-only; write somewhere else",
    errno.ENOENT: "the folder does not exist; make it first",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.EISDIR: "a folder of that name is in the way",
    errno.ENAMETOOLONG: "the name is too long for the file system",
}
if hasattr(errno, "EDQUOT"):  # Windows has none
    _ADVICE[errno.EDQUOT] = "the disk quota is used up; make room"


def storage_error(path: str | os.PathLike[str], error: OSError) -> StorageError:
    """An `OSError` met while writing `path`, as one line: where, what, what to do."""
    # numpy has no number for a disk that fills up: "4032 requested and 2016 written".
    full = error.errno is None and " requested and " in str(error)
    advice = _ADVICE.get(errno.ENOSPC if full else error.errno or 0, error.strerror or str(error))
    return StorageError(f"{os.fspath(path)}: not written: {advice}")


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a file that `write_whole` could not write, before the work that it would keep is done.

    Raises:
        StorageError: its folder is missing or may not be written to, or a folder or a device of that name is
            in the way.
    """
    path = Path(path)
    try:
        _refuse_other_than_file(path)
        number = 0 if path.absolute().parent.is_dir() else errno.ENOENT
        number = number or (0 if os.access(path.absolute().parent, os.W_OK) else errno.EACCES)
        if number:
            raise OSError(number, os.strerror(number))
    except OSError as error:
        raise storage_error(path, error) from error


def _refuse_other_than_file(path: Path) -> None:
    """A rename would put a file in the place of a device, and every program that uses it would suffer."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if path.exists() and not path.is_file():
        raise StorageError(f"{path}: not written: it is a device, a pipe or a socket; name a file")


def check_apart(path: str | os.PathLike[str], read: Iterable[str | os.PathLike[str]]) -> None:
    """Refuse to write over what is read: one of these files, or anything inside of one of these folders.

    Raises:
        UsageError: it would be.
    """
    path = Path(path)
    for one in map(Path, read):
        inside = one.is_dir() and path.exists() and one.resolve() in path.resolve().parents
        if inside or (path.exists() and one.exists() and path.samefile(one)):
            raise UsageError(f"{path}: is what is read here; name another file to write")


def write_whole(path: str | os.PathLike[str], data: bytes | Callable[[BinaryIO], object]) -> None:
    """Write a file whole or not at all; an existing file stays as it is until the new one is complete.

    Args:
        path: the file; its folder must exist. A symbolic link is followed, and stays.
        data: the bytes, or a function that writes them into the binary file it is given.

    Raises:
        StorageError: the file could not be written; nothing half-written is left.
    """
    path = Path(path)
    try:
        _write(Path(os.path.realpath(path)), data)
    except OSError as error:
        raise storage_error(path, error) from error
    except ValueError as error:
        raise StorageError(f"{str(path)!r}: not written: no file can have this name") from error


def _write(path: Path, data: bytes | Callable[[BinaryIO], object]) -> None:
    _refuse_other_than_file(path)
    # In the same folder, since a rename is atomic within one file system only. Not named after the target,
    # whose name may be as long as the file system allows.
    temporary = path.with_name(f".hotlap-{os.urandom(8).hex()}.tmp")
    try:
        with temporary.open("xb") as file:
            if callable(data):
                data(file)
            else:
                file.write(data)
            file.flush()
            os.fsync(file.fileno())  # else a power cut can leave the new name with old or no bytes
        if path.exists():
            temporary.chmod(path.stat().st_mode & 0o7777)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):  # the first error is the one to tell
            temporary.unlink()
        raise
