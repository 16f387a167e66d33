"""The folder that a tuning leaves: ``plan.toml``, the model, ``tuning.json``. Written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hotlap.errors import StorageError, UsageError

__all__ = ["check_destination", "new_folder"]

PLAN, TUNING = "plan.toml", "tuning.json"


def check_destination(out: Path, *, force: bool) -> None:
    """Refuses, before any work is done, a destination that could not be written or would lose something.

    Raises:
        UsageError: it exists and is not a lap folder, or is one and `force` was not given; or its parent is
            no folder.
    """
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
def new_folder(out: Path) -> Iterator[Path]:
    """A folder to fill that becomes `out` if the block ends well, and vanishes if it does not.

    An older lap folder of that name is replaced only once the new one is whole.

    Raises:
        StorageError: the disk is full, or does not allow it.
    """
    try:
        building = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
        try:
            building.chmod(0o755)  # mkdtemp's 0700 would lock out the service that runs the plan
            yield building
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
    old = Path(tempfile.mkdtemp(prefix=f".{out.name}.old.", dir=out.parent))
    out.rename(old / "lap")
    try:
        building.rename(out)
    except OSError:
        (old / "lap").rename(out)
        old.rmdir()
        raise
    shutil.rmtree(old, ignore_errors=True)
