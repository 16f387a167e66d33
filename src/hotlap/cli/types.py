"""Kinds of argument that several verbs take."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

__all__ = ["AXES", "DURATION", "FUNCTION", "PERCENT", "SHARE", "SIZE"]

if TYPE_CHECKING:  # generic for type checkers of newer click releases, a plain class in older ones
    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType

_BYTES = {
    "": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30,
    "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30,
}  # fmt: skip
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "ms": 1e-3, "us": 1e-6}


class _Duration(_ParamType):
    """``90s``, ``2m``, ``1h`` or a plain number of seconds, as a float in seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", str(value))
        if not match or match[2] not in _UNITS:
            self.fail(f"{value!r} is no length of time; say 90s, 2m or 1h", param, ctx)
        return float(match[1]) * _UNITS[match[2]]


class _Size(_ParamType):
    """``64MiB``, ``1GiB``, ``100kB`` or a plain number of bytes, as an int."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"\s*(\d{1,15})\s*([a-zA-Z]*)\s*", str(value), re.ASCII)
        if not match or match[2].lower() not in _BYTES or not int(match[1]):
            self.fail(f"{value!r} is no size; say 64MiB, 1GiB or a number of bytes", param, ctx)
        return int(match[1]) * _BYTES[match[2].lower()]


class _Axes(_ParamType):
    """``NAME:AXIS``, as (name, axis)."""

    name = "axes"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        if isinstance(value, tuple):
            return value
        name, colon, axis = str(value).rpartition(":")  # an output's name may hold colons itself
        if not colon or not re.fullmatch(r"-?\d{1,4}", axis):
            self.fail(f"{value!r} is not NAME:AXIS, such as logits:-1", param, ctx)
        return name, int(axis)


class _Function(_ParamType):
    """``module:function``, imported; the working folder counts, as it does for ``python -m``."""

    name = "function"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if callable(value):
            return value
        module, colon, name = str(value).partition(":")
        if not (module and colon and name):
            self.fail(f"{value!r} is not MODULE:FUNCTION, such as metrics:accuracy", param, ctx)
        sys.path.insert(0, str(Path.cwd()))
        try:
            function = getattr(import_module(module), name)
        except Exception as error:  # noqa: BLE001  the user's module may raise anything
            self.fail(f"{value!r} cannot be imported: {type(error).__name__}: {error}", param, ctx)
        finally:
            sys.path.pop(0)
        if not callable(function):
            self.fail(f"{value!r} is no function", param, ctx)
        return function


class _Share(_ParamType):
    """``0.5%`` or ``0.005``, as a float. A share of a `whole` says more than that only in percent."""

    name = "share"

    def __init__(self, whole: bool = False) -> None:
        self.whole = whole

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value).strip()
        percent = text.endswith("%")
        try:
            share = float(text.removesuffix("%")) / (100 if percent else 1)
        except ValueError:
            share = -1.0
        if not 0 <= share < float("inf"):
            self.fail(f"{value!r} is no share; say 0.5% or 0.005", param, ctx)
        if self.whole and share >= 1 and not percent:
            self.fail(f"{value!r} is a share of 1 or more; say {value}% if you mean percent", param, ctx)
        return share


DURATION = _Duration()
AXES = _Axes()
FUNCTION = _Function()
SHARE = _Share()
PERCENT = _Share(whole=True)
SIZE = _Size()
