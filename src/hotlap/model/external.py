"""Weights that lie in files beside the model: where they are, and that they are whole.

A model names these files itself, so a hostile one could name any file of this machine. Only files inside the
model's own folder are read, links followed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Literal

import msgspec

from hotlap.errors import ModelError
from hotlap.model.graph import tensors
from hotlap.model.reference import Reference, is_external, reference
from hotlap.plan import External
from hotlap.runtime.digest import file_digest

__all__ = ["ExternalProblem", "external_files", "external_problems", "found_files", "place"]

Kind = Literal["missing", "moved", "changed", "cut short", "outside", "unreadable"]

_IN_MEMORY = "*/_ORT_MEM_ADDR_/*"  # what ORT writes for weights that lie in memory; never valid in a file
_MOST_ENTRIES = 20_000
"""Files and folders that are looked at for a file that moved: a model may lie in a home folder."""


class ExternalProblem(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with one file of external weights.

    Attributes:
        kind: what.
        location: the file, as the model spells it.
        tensor: the first tensor that wants it.
        said: the problem, one line.
        elsewhere: where a file of that name was found instead, inside the model's folder; "" where nowhere.
    """

    kind: Kind
    location: str
    tensor: str
    said: str
    elsewhere: str = ""


def place(folder: Path, location: str) -> Path:
    """The file of that name in the model's folder, if it is there and nowhere else.

    Raises:
        ModelError: it is missing, no file, unreadable, or outside of the folder.
    """
    found = _place(folder, location)
    if isinstance(found, Path):
        return found
    raise ModelError(found[1])


def external_files(model: Any, path: Path) -> dict[str, Path]:
    """Name as the model spells it, to the file; each is there and holds what the model wants of it.

    Raises:
        ModelError: a file is missing, too short, or outside of the model's folder.
    """
    files = _Files(path.parent)
    for problem in files.problems(model):
        raise ModelError(f"{path}: {problem.said}")
    return files.found


def found_files(model: Any, path: Path) -> dict[str, Path]:
    """Name as the model spells it, to the file; what is missing, unreadable or outside is left out."""
    files = _Files(path.parent)
    for _ in files.problems(model):
        pass
    return files.found


def external_problems(
    model: Any, path: Path, known: Mapping[str, External] | None = None
) -> tuple[ExternalProblem, ...]:
    """What is wrong with the model's files of external weights; one problem for each file.

    A file is hashed only where the model (key ``checksum``, SHA1) or `known` says what its digest must be.

    Args:
        model: the ``ModelProto``.
        path: where it was read from.
        known: what a plan says of the files, by their names.
    """
    files = _Files(path.parent)
    problems = {p.location: p for p in files.problems(model)}
    for one in _changed(model, files.found, known or {}):
        problems.setdefault(one.location, one)
    near = _near(path.parent, {_name(p) for p in problems.values()} - {""})
    return tuple(_moved(p, near) for p in problems.values())


class _Files:
    """The files of one model, each looked for once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.found: dict[str, Path] = {}
        self._bad: set[str] = set()

    def problems(self, model: Any) -> Iterator[ExternalProblem]:
        """The first of each file."""
        for one in _references(model):
            if one.location in self._bad:
                continue
            kind, said = self._problem(one)
            if said:
                self._bad.add(one.location)
                yield ExternalProblem(kind=kind, location=one.location, tensor=one.tensor, said=said)

    def _problem(self, one: Reference) -> tuple[Kind, str]:
        if one.said:
            return "unreadable", one.said
        if one.location not in self.found:
            found = _place(self.folder, one.location)
            if not isinstance(found, Path):
                return found
            self.found[one.location] = found
        have, end = self.found[one.location].stat().st_size, one.offset + one.length
        if have < end:
            where = f'its file of weights "{one.location}" is cut short'
            return "cut short", f'{where}: weight "{one.tensor}" ends at byte {end} of {have}'
        return "unreadable", ""


def _references(model: Any) -> Iterator[Reference]:
    return (reference(t) for t in tensors(model) if is_external(t))


def _place(folder: Path, location: str) -> Path | tuple[Kind, str]:
    """The file, or what is wrong with it."""
    parts = PureWindowsPath(location), PurePosixPath(location)
    if (
        not location
        or location == _IN_MEMORY
        or any(p.is_absolute() or p.drive or ".." in p.parts for p in parts)
    ):
        return "outside", f'wants weights from "{location}", outside of its own folder: refused'
    file = folder / location
    named = f'its file of weights "{location}"'
    try:
        real = file.resolve(strict=True)
        if not real.is_relative_to(folder.resolve()):
            return "outside", f"{named} links to {real}, outside of its folder: refused"
        if not real.is_file():
            return "unreadable", f"{named} is not a file"
        if not os.access(real, os.R_OK):
            return "unreadable", f"{named} cannot be read: permission denied"
    except FileNotFoundError:
        return "missing", f"{named} is missing from {'its folder' if folder == Path() else folder}"
    except (OSError, ValueError, RuntimeError) as error:  # a name with a zero byte; links in a circle
        return "unreadable", f"{named} cannot be read: {error}"
    return file


def _changed(
    model: Any, found: Mapping[str, Path], known: Mapping[str, External]
) -> Iterator[ExternalProblem]:
    checked: dict[tuple[str, str], bool] = {}
    for one in _references(model):
        file = found.get(one.location)
        if file is None:
            continue
        key = one.location, one.checksum.lower()
        if key not in checked:
            checked[key] = _is_as_known(file, known.get(one.location)) and _has_sha1(file, key[1])
        if not checked[key]:
            said = f'its file of weights "{one.location}" is not the one that it was saved with'
            yield ExternalProblem(kind="changed", location=one.location, tensor=one.tensor, said=said)


def _is_as_known(file: Path, known: External | None) -> bool:
    return known is None or (file.stat().st_size == known.size and file_digest(file) == known.digest)


def _has_sha1(file: Path, checksum: str) -> bool:
    if not checksum:
        return True
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha1").hexdigest() == checksum


def _name(problem: ExternalProblem) -> str:
    """Under what name to look for the file, in small letters; "" where it is not to be looked for."""
    lost = problem.kind in ("missing", "outside")
    return PureWindowsPath(problem.location).name.casefold() if lost else ""  # it takes both kinds of slash


def _moved(problem: ExternalProblem, near: Mapping[str, str]) -> ExternalProblem:
    """The problem; where a file of that name lies elsewhere in the model's folder, it has moved."""
    inside = near.get(_name(problem))
    if not inside:
        return problem
    said = f'{problem.said}; a file of that name lies at "{inside}"'
    return msgspec.structs.replace(problem, kind="moved", elsewhere=inside, said=said)


def _near(folder: Path, names: set[str]) -> dict[str, str]:
    """Name to the nearest file of that name which a model in the folder may use; one walk for all of them."""
    found: dict[str, str] = {}
    for file in _below(folder) if names else ():
        name, inside = file.name.casefold(), file.relative_to(folder).as_posix()
        if name in names and name not in found and isinstance(_place(folder, inside), Path):
            found[name] = inside
            if len(found) == len(names):
                break
    return found


def _below(folder: Path) -> Iterator[Path]:
    """The files in a folder, those nearest first; not all of a very large one."""
    folders, seen = [folder], 0
    for here in folders:  # it grows on the way
        try:
            with os.scandir(here) as all_entries:
                entries = sorted(islice(all_entries, _MOST_ENTRIES - seen), key=lambda e: e.name)
        except OSError:
            continue
        seen += len(entries)
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(here / entry.name)
            else:
                yield here / entry.name
        if seen >= _MOST_ENTRIES:
            return
