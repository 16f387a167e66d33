"""The folder that a tuning leaves: ``plan.toml``, the model, ``tuning.json``. Written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from hotlap.errors import StorageError, UsageError

__all__ = ["check_destination", "check_reference", "new_folder"]

PLAN, TUNING = "plan.toml", "tuning.json"
_UNFINISHED = ".hotlap-lap-"


def check_reference(out: Path, files: Iterable[Path]) -> None:
    """Refuses to point to a model that lies in the folder that is replaced, and would be gone with it.

    Raises:
        UsageError: it does.
    """
    for file in files:
        if file.resolve().is_relative_to(out.resolve()):
            raise UsageError(
                f"{out}: holds {file}, which --reference would point to, and replacing it would delete it; "
                "name another folder"
            )


def check_destination(out: Path, *, force: bool) -> None:
    """Refuses, before any work is done, a destination that could not be written or would lose something.

    Raises:
        UsageError: it exists and is not a lap folder, or is one and `force` was not given; or its parent is
            no folder.
    """
    try:
        _check(out, force=force)
    except OSError as error:  # a name that is too long, a folder that may not be entered
        raise StorageError(f"{out}: {error.strerror or error}; name another") from error


def _check(out: Path, *, force: bool) -> None:
    if not out.parent.is_dir():
        raise UsageError(f"{out}: there is no folder {out.parent} to put it in")
    if out.is_symlink() or (out.exists() and not (out / PLAN).is_file()):
        if out.is_dir() and not out.is_symlink() and not any(out.iterdir()):
            return
        raise UsageError(f"{out}: exists and is no lap folder; name another")
    if out.exists() and not force:
        raise UsageError(f"{out}: exists; name another or say --force to replace it")
    if not os.access(out.parent, os.W_OK):
        raise StorageError(f"{out.parent}: no permission to write there")


@contextlib.contextmanager
def new_folder(out: Path, *, force: bool) -> Iterator[Path]:
    """A folder to fill that becomes `out` if the block ends well, and vanishes if it does not.

    An older lap folder of that name is replaced only once the new one is whole.

    Raises:
        StorageError: the disk is full, or does not allow it.
        UsageError: something else is there by now, that was not there when `check_destination` looked.
    """
    try:
        # Not named after the folder, whose name may be as long as the file system allows.
        building = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=out.parent))
        try:
            building.chmod(0o755)  # mkdtemp's 0700 would lock out the service that runs the plan
            yield building
            _check(out, force=force)  # another tuning, or a person, had minutes to put something there
            _move_into_place(building, out)
        finally:
            shutil.rmtree(building, ignore_errors=True)
    except OSError as error:
        full = error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
        why = "no space is left there; make room and try again" if full else (error.strerror or str(error))
        raise StorageError(f"{out}: could not be written: {why}. Nothing was left half-written") from error


def _move_into_place(building: Path, out: Path) -> None:
    if not out.exists():
        building.rename(out)
        return
    old = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=out.parent))
    try:
        out.rename(old / "lap")
        building.rename(out)
    except BaseException:  # an interrupt as well: the old folder must come back
        if (old / "lap").exists() and not out.exists():
            (old / "lap").rename(out)
        shutil.rmtree(old, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)
