"""Kinds of argument that several verbs take."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

__all__ = ["AXES", "DURATION", "PERCENT"]

if TYPE_CHECKING:  # generic for type checkers of newer click releases, a plain class in older ones
    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "ms": 1e-3}


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


class _Percent(_ParamType):
    """``5%`` or ``0.05``, as the share 0.05."""

    name = "share"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(%?)\s*", str(value))
        if not match:
            self.fail(f"{value!r} is no share; say 5% or 0.05", param, ctx)
        share = float(match[1]) / (100 if match[2] else 1)
        if share >= 1 and not match[2]:
            self.fail(f"{value!r} is a share of 1 or more; say {value}% if you mean percent", param, ctx)
        return share


class _Axes(_ParamType):
    """``NAME:AXIS``, as (name, axis)."""

    name = "axes"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        if isinstance(value, tuple):
            return value
        name, colon, axis = str(value).rpartition(":")  # an output's name may hold colons itself
        if not colon or not re.fullmatch(r"-?\d+", axis):
            self.fail(f"{value!r} is not NAME:AXIS, such as logits:-1", param, ctx)
        return name, int(axis)


DURATION = _Duration()
AXES = _Axes()
PERCENT = _Percent()
