"""One option of ORT: what it may be, and how it is written for ORT."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Literal

from hotlap.errors import PlanError
from hotlap.providers import FLOOR
from hotlap.tensors import nearest

__all__ = ["Option", "Value", "inside", "named"]

Value = str | int | float | bool
"""A value of a session or run option, in TOML's own types."""

_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "enum": (str,),
    "str": (str,),
    "path": (str,),
}
_WORDS = {"bool": "true or false", "int": "a whole number", "float": "a number"}


@dataclass(frozen=True, slots=True)
class Option:
    """One session or run option that a plan can set.

    Attributes:
        name: ORT's own name.
        kind: the type of its value; "path" is a text that names a file beside the plan.
        doc: what it does, in a sentence.
        default: what ORT does when it is not given, as a plan would write it.
        values: the values allowed, for an enum and for numbers with few; empty: any.
        low, high: the smallest and largest number allowed; None: no bound.
        pattern: a regular expression that the whole text must match; "" for any text.
        example: a value that shows the pattern.
        since: the first ORT version that knows it.
        changes_numbers: it can change the values that the model answers.
        relative: of a path, ORT looks for it from the file that it belongs to, and refuses a whole path.
        attribute: it is a Python attribute of ORT's options object; else an entry of its config map.
        ort_enum: for such an attribute, the class in `onnxruntime` whose member the value names.
        needs: the providers without which it does nothing; empty: none.
    """

    name: str
    kind: Literal["bool", "int", "float", "enum", "str", "path"]
    doc: str
    default: str = ""
    values: tuple[str | int, ...] = ()
    low: int | None = None
    high: int | None = None
    pattern: str = ""
    example: str = ""
    since: str = FLOOR
    changes_numbers: bool = False
    relative: bool = False
    attribute: bool = False
    ort_enum: str = ""
    needs: tuple[str, ...] = ()

    def check(self, value: Any, where: str) -> Value:
        """The value, if it is one that this option can take.

        Raises:
            PlanError: it is not; names `where`, what was given and what would do.
        """
        right_type = isinstance(value, _PYTHON_TYPES[self.kind]) and (
            self.kind == "bool" or not isinstance(value, bool)
        )
        if not right_type or not self._fits(value):
            near = nearest(value, [str(v) for v in self.values]) if isinstance(value, str) else ""
            raise PlanError(f"{where}: expected {self.expected}, got {named(value)}{near}")
        if self.kind == "path":
            inside(value, where)
        return value  # type: ignore[no-any-return]  # its type was just checked

    def _fits(self, value: Any) -> bool:
        if isinstance(value, float) and not math.isfinite(value):
            return False
        if self.values:
            return value in self.values
        if isinstance(value, str):
            return re.fullmatch(self.pattern, value) is not None if self.pattern else True
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    @property
    def expected(self) -> str:
        """What the option takes, in words."""
        if self.values:
            return "one of " + ", ".join(f'"{v}"' if isinstance(v, str) else str(v) for v in self.values)
        if self.pattern:
            return f'a text such as "{self.example}"'
        low = "" if self.low is None else f" of {self.low} or more"
        bounds = low if self.high is None else f" from {self.low} to {self.high}"
        return _WORDS.get(self.kind, "a text") + bounds

    def text(self, value: Value) -> str:
        """The value as ORT's config map wants it: "1" and "0" for true and false."""
        return str(int(value)) if isinstance(value, bool) else str(value)


def named(value: Any) -> str:
    """A value of a plan in words, short enough for one line: ``the text "2"``, ``the number 2.5``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        short = value if len(value) <= 60 else value[:57] + "…"
        return "the text " + '"' + "".join(c if c.isprintable() else ascii(c)[1:-1] for c in short) + '"'
    if isinstance(value, int | float):
        return f"the number {value}" if abs(value) < 10**18 else f"the number {_short(value)}"
    kinds = {dict: "a table", list: "a list", tuple: "a list", type(None): "nothing"}
    return kinds.get(type(value), f"a {type(value).__name__}")


def _short(number: int | float) -> str:
    try:
        return f"{number:.3g}"
    except OverflowError:  # TOML's hexadecimal numbers have any length
        return f"of {number.bit_length()} bits" if isinstance(number, int) else str(number)


def inside(path: str, where: str) -> None:
    """Refuse a path that leads out of the folder it is relative to.

    A plan may come from anywhere, and opening it must not overwrite files elsewhere.

    Raises:
        PlanError: the path is empty, absolute on any system, or climbs out with "..".
    """
    windows, posix = PureWindowsPath(path), PurePosixPath(path)
    climbs = ".." in windows.parts or ".." in posix.parts
    if not path.strip("./\\ ") or windows.drive or windows.root or posix.is_absolute() or climbs:
        raise PlanError(f'{where}: expected a relative file name without "..", got {named(path)}')
