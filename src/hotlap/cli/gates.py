"""The options that say what a gate asks of the answers, where a verb has one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from hotlap.cli.types import AXES, SHARE

__all__ = ["gate_options", "max_drop_option"]

F = TypeVar("F", bound=Callable[..., Any])


def gate_options(default: str) -> Callable[[F], F]:
    """Adds ``--level`` and ``--scores``.

    Args:
        default: which level judges where none is named, in words.
    """

    def add(function: F) -> F:
        function = click.option(
            "--scores",
            type=AXES,
            multiple=True,
            metavar="NAME:AXIS",
            help="An output of class scores; its class axis.",
        )(function)
        return click.option(
            "--level",
            type=click.Choice(["exact", "close", "task"]),
            help=f"The gate; default: {default}.",
        )(function)

    return add


def max_drop_option(function: F) -> F:
    """Adds ``--max-drop``."""
    return click.option(
        "--max-drop", type=SHARE, help="How much lower the score may be, e.g. 0.5% or 0.005."
    )(function)
