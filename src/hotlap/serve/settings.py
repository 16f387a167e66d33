"""The protocol's log and trace settings: `LogSettings`, `TraceSettings`."""

from __future__ import annotations

import logging
import reprlib
from collections.abc import Callable, Mapping
from typing import Any

from hotlap.errors import InputError
from hotlap.tensors import nearest

__all__ = ["LogSettings", "TraceSettings", "shown"]

_LOGGER = "hotlap.serve"
_SHOWN = 64
"""Characters of a client's text that an error repeats."""
_MOST = 16
"""Problems that an error tells."""


class LogSettings:
    """What the server logs: levels of the logger ``hotlap.serve``, under the names of the logging extension.

    Until a client sets something, the logger is left as the program has set it up.
    """

    def __init__(self) -> None:
        self._values: dict[str, Any] = {
            "log_file": "",
            "log_info": True,
            "log_warning": True,
            "log_error": True,
            "log_verbose_level": 0,
            "log_format": "default",
        }

    def now(self) -> dict[str, Any]:
        """The settings, as the protocol names them."""
        return dict(self._values)

    def change(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Sets those that are given and not null, all or none; returns them all.

        ``log_format`` is kept and told, no more: the program that runs the server formats its log.

        Raises:
            InputError: names or values that cannot be, each in a line.
        """
        new = _checked(wanted, _LOG)
        self._values |= {k: v for k, v in new.items() if v is not None}
        if new:
            logging.getLogger(_LOGGER).setLevel(self._level())
        return self.now()

    def _level(self) -> int:
        if self._values["log_verbose_level"]:
            return logging.DEBUG
        for name, level in (
            ("log_info", logging.INFO),
            ("log_warning", logging.WARNING),
            ("log_error", logging.ERROR),
        ):
            if self._values[name]:
                return level
        return logging.CRITICAL + 1


class TraceSettings:
    """The settings of the trace extension, of the server and of single models. They are kept and told;
    nothing is traced."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {
            "trace_level": ["OFF"],
            "trace_rate": "1000",
            "trace_count": "-1",
            "log_frequency": "0",
            "trace_file": "",
            "trace_mode": "triton",
        }
        self._first = dict(self._values)
        self._models: dict[str, dict[str, Any]] = {}

    def now(self, model: str = "") -> dict[str, Any]:
        """The settings of a served model, or of the server."""
        return self._values | self._models.get(model, {})

    def change(self, wanted: Mapping[str, Any], model: str = "") -> dict[str, Any]:
        """Sets those that are given, all or none; null goes back to the server's, or to the first value.

        Args:
            model: one that is served; "": the server's settings.

        Raises:
            InputError: names or values that cannot be, each in a line.
        """
        new = _checked(wanted, _TRACE)
        mine = self._models.setdefault(model, {}) if model else self._values
        for name, value in new.items():
            if value is not None:
                mine[name] = value
            elif model:
                mine.pop(name, None)
            else:
                mine[name] = self._first[name]
        return self.now(model)


# ── what each may be: the value as it is told, or why it cannot be ───────────────────────────────────────

Check = Callable[[Any], Any]


class _Wrong(Exception):
    """The text says what was expected."""


def _checked(wanted: Mapping[str, Any], checks: Mapping[str, Check]) -> dict[str, Any]:
    problems: list[str] = []
    new: dict[str, Any] = {}
    for name, value in wanted.items():
        if len(problems) == _MOST:
            break
        if name not in checks:
            known = ", ".join(checks)
            problems.append(
                f'setting "{name[:_SHOWN]}": unknown{nearest(name[:_SHOWN], checks)}; there are {known}'
            )
            continue
        try:
            new[name] = None if value is None else checks[name](value)
        except _Wrong as wrong:
            problems.append(f"setting {name}: expected {wrong}, got {shown(value)}")
    if problems:
        raise InputError(problems)
    return new


def shown(value: Any) -> str:
    """A client's value for a message. It may be of megabytes, or nested as deeply as can be read."""
    return reprlib.repr(value)[:_SHOWN]


def _flag(value: Any) -> Any:
    if not isinstance(value, bool):
        raise _Wrong("true or false")
    return value


def _level(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise _Wrong("a whole number from 0 on")
    return value


def _format(value: Any) -> Any:
    if value not in ("default", "ISO8601"):
        raise _Wrong('"default" or "ISO8601"')
    return value


def _file(value: Any) -> Any:
    raise _Wrong("nothing: files cannot be named over the network")


def _trace_level(value: Any) -> Any:
    levels = [value] if isinstance(value, str) else value
    known = ("OFF", "TIMESTAMPS", "TENSORS")
    right = isinstance(levels, list) and 0 < len(levels) <= len(known) and all(v in known for v in levels)
    if not right or ("OFF" in levels and len(levels) > 1):
        raise _Wrong('["OFF"], or a list of "TIMESTAMPS" and "TENSORS"')
    return levels


def _whole(least: int) -> Check:
    def check(value: Any) -> Any:
        text = value[0] if isinstance(value, list) and len(value) == 1 else value
        number = None if isinstance(text, bool) else _as_int(text)
        if number is None or not least <= number < 2**31:
            raise _Wrong(f"a whole number from {least} on")
        return str(number)

    return check


def _as_int(value: Any) -> int | None:
    if isinstance(value, int):
        return value
    if isinstance(value, str) and len(value) <= 11 and value.isascii() and value.removeprefix("-").isdigit():
        return int(value)
    return None


def _mode(value: Any) -> Any:
    if value != "triton":
        raise _Wrong('"triton"')
    return value


_LOG: dict[str, Check] = {
    "log_file": _file,
    "log_info": _flag,
    "log_warning": _flag,
    "log_error": _flag,
    "log_verbose_level": _level,
    "log_format": _format,
}
_TRACE: dict[str, Check] = {
    "trace_level": _trace_level,
    "trace_rate": _whole(1),
    "trace_count": _whole(-1),
    "log_frequency": _whole(0),
    "trace_file": _file,
    "trace_mode": _mode,
}
