"""What is wrong with a request, gathered: `Problems`. A client may send a million wrong names, or one name of
a megabyte: the answer stays short, one line for each problem, and quick to make."""

from __future__ import annotations

from hotlap.errors import InputError

__all__ = ["Problems", "Wrong", "shown"]

_MOST_LINES = 64
_MOST_LETTERS = 80


class Wrong(Exception):
    """One thing that is wrong with the tensor at hand; it never leaves this room."""


class Problems:
    """Lines for one `InputError`."""

    __slots__ = ("_left_out", "lines")

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._left_out = 0

    @property
    def full(self) -> bool:
        """Another line would only be counted: don't work for it."""
        return len(self.lines) >= _MOST_LINES

    def add(self, line: str) -> None:
        if self.full:
            self._left_out += 1
        else:
            self.lines.append(line)

    def check(self) -> None:
        """
        Raises:
            InputError: there are problems.
        """
        if self._left_out:
            raise InputError([*self.lines, f"and {self._left_out:,} more problems"])
        if self.lines:
            raise InputError(self.lines)


def shown(name: str) -> str:
    """The client's word between quotes, on one line, not too long."""
    short = name if len(name) <= _MOST_LETTERS else name[:_MOST_LETTERS] + "…"
    return f'"{short}"' if short.isprintable() else f'"{short.encode("unicode_escape").decode()}"'
