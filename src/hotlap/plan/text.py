"""Plan files as text: reading with one clear line for each thing that can be wrong, and writing."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from hotlap.errors import PlanError

__all__ = ["LARGEST", "parse", "read", "written"]

LARGEST = 1 << 20
"""Bytes. A plan is a page of text; what is larger is something else, a model perhaps."""

_HEADER = "# hotlap plan: how to run one model on one kind of machine.\n\n"


def read(path: str | os.PathLike[str]) -> str:
    """The text of a plan file.

    Raises:
        PlanError: missing, a folder, not readable, larger than `LARGEST`, or not UTF-8.
    """
    where = os.fspath(path)
    try:
        _refuse_what_is_no_file(Path(where), where)
        with Path(where).open("rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise PlanError(f"{where}: no such file") from None
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise PlanError(f"{where!r}: cannot be read: {reason}") from error
    if len(data) > LARGEST:
        raise PlanError(f"{where}: larger than 1 MiB, so it is no plan")
    try:
        return data.decode("utf-8-sig")  # Windows' editors put a byte order mark in front
    except UnicodeDecodeError as error:
        raise PlanError(f"{where}: byte {error.start + 1} is not UTF-8, so it is no plan") from error


def _refuse_what_is_no_file(path: Path, where: str) -> None:
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        hint = f"; did you mean {path / 'plan.toml'}?" if (path / "plan.toml").is_file() else ""
        raise PlanError(f"{where}: is a folder, not a plan file{hint}")
    if not stat.S_ISREG(mode):  # reading a pipe could wait for ever
        raise PlanError(f"{where}: is no regular file")


def parse(toml: str) -> dict[str, Any]:
    """TOML text as a table.

    Raises:
        PlanError: it is no TOML; names line and column.
    """
    import tomllib  # a plan made in Python needs no reader

    try:
        return tomllib.loads(toml)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"no valid TOML: {error}") from error
    except RecursionError as error:
        raise PlanError("no valid TOML: nested too deep") from error
    except ValueError as error:  # dates that are none, numbers of thousands of digits
        raise PlanError(f"no valid TOML: {error}") from error


def written(table: dict[str, Any]) -> str:
    """A table as the text of a plan file."""
    import tomli_w  # only writing needs it

    return _HEADER + tomli_w.dumps(table)
