"""Errors about temporary files, told without their place: it says nothing to anyone, and is gone by then."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hotlap.errors import HotlapError, InputError

__all__ = ["unplaced"]


@contextmanager
def unplaced(*folders: Path) -> Iterator[None]:
    """Errors of hotlap raised in the block, and their causes, leave out where temporary files lie.

    ``fuse: FOLDER/source.onnx: ONNX Runtime does not load it`` is ``fuse: ONNX Runtime does not load it``:
    what stands in front, the pass or the side, says whose it is. Of other files the name below the folder
    stays.

    Args:
        folders: the temporary ones.
    """
    try:
        yield
    except HotlapError as error:
        one: BaseException | None = error
        while isinstance(one, HotlapError):
            _retell(one, folders)
            one = one.__cause__
        raise


def _retell(error: HotlapError, folders: tuple[Path, ...]) -> None:
    error.args = tuple(_told(a, folders) if isinstance(a, str) else a for a in error.args)
    if isinstance(error, InputError):
        error.problems = [_told(problem, folders) for problem in getattr(error, "problems", ())]


def _told(text: str, folders: tuple[Path, ...]) -> str:
    for folder in folders:
        # Runtimes tell the real place, and a temporary folder may lie behind a link.
        for place in dict.fromkeys((str(folder), os.path.realpath(folder))):
            text = re.sub(rf"{re.escape(place)}[\\/][^:\n]*?\.onnx: ", "", text)
            text = text.replace(f"{place}{os.sep}", "").replace(place, "a temporary folder")
    return text
