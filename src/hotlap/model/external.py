"""Weights that lie in files beside the model: where they are, and that they are whole.

A model names these files itself, so a hostile one could name any file of this machine. Only files inside the
model's own folder are read, links followed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Literal

import msgspec

from hotlap.errors import ModelError
from hotlap.model.graph import tensors

__all__ = ["ExternalProblem", "external_files"]


class ExternalProblem(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with one file of external weights.

    Attributes:
        kind: what.
        location: the file, as the model spells it.
        tensor: the first tensor that wants it.
        said: the problem, one line.
        elsewhere: where a file of that name was found instead, inside the model's folder; "" where nowhere.
    """

    kind: Literal["missing", "moved", "changed", "cut short", "outside", "unreadable"]
    location: str
    tensor: str
    said: str
    elsewhere: str = ""


_EXTERNAL = 1  # TensorProto.DataLocation.EXTERNAL
_IN_MEMORY = "*/_ORT_MEM_ADDR_/*"  # what ORT writes for weights that lie in memory; never valid in a file


def external_files(model: Any, path: Path) -> dict[str, Path]:
    """Name as the model spells it, to the file; each is there and holds what the model wants of it.

    Raises:
        ModelError: a file is missing, too short, or outside of the model's folder.
    """
    found: dict[str, Path] = {}
    for tensor, location, end in _references(model):
        if location not in found:
            found[location] = _place(path, location)
        have = found[location].stat().st_size
        if have < end:
            raise ModelError(f'{found[location]}: cut short: weight "{tensor}" ends at byte {end} of {have}')
    return found


def _references(model: Any) -> Iterator[tuple[str, str, int]]:
    """(tensor, location, where it ends at the least) of each tensor that lies outside of the file."""
    for tensor in tensors(model):
        if tensor.data_location != _EXTERNAL:
            continue
        entry = {e.key: e.value for e in tensor.external_data}
        try:
            end = int(entry.get("offset") or 0) + int(entry.get("length") or 0)
        except ValueError:
            raise ModelError(f'weight "{tensor.name}" has no readable place in its file: {entry}') from None
        yield tensor.name, entry.get("location", ""), end


def _place(path: Path, location: str) -> Path:
    folder = path.parent
    parts = PureWindowsPath(location), PurePosixPath(location)
    if (
        not location
        or location == _IN_MEMORY
        or any(p.is_absolute() or p.drive or ".." in p.parts for p in parts)
    ):
        raise ModelError(f'{path}: wants weights from "{location}", outside of its own folder: refused')
    file = folder / location
    try:
        real = file.resolve(strict=True)
    except FileNotFoundError:
        raise ModelError(f'{path}: its file of weights "{location}" is missing from {folder}') from None
    except OSError as error:
        raise ModelError(f'{path}: its file of weights "{location}" cannot be read: {error}') from error
    if not real.is_relative_to(folder.resolve()):
        raise ModelError(
            f'{path}: its file of weights "{location}" links to {real}, outside of its folder: refused'
        )
    if not real.is_file():
        raise ModelError(f'{path}: its file of weights "{location}" is not a file')
    return file
