"""What every verb shares: the options --json and --debug, output, progress, and the table of exit codes.

Results go to stdout; progress, log lines and errors go to stderr.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from hotlap import errors

if TYPE_CHECKING:
    from rich.console import Console

F = TypeVar("F", bound=Callable[..., Any])

EXIT_CODES: dict[type[BaseException], int] = {
    errors.VerificationFailed: 1,
    errors.Unavailable: 3,
    errors.StorageError: 3,
    errors.HotlapError: 2,
    click.ClickException: 2,
    OSError: 2,
    KeyboardInterrupt: 130,
}
"""Kind of error to exit code; the nearest base class counts. 1 a gate said no, 2 wrong usage or bad input,
3 something missing on this machine, 130 interrupted (as shells have it)."""
SAID_NO = 1


def common_options(function: F) -> F:
    """Adds ``--json`` (one JSON document on stdout) and ``--debug`` (traceback, log at DEBUG)."""
    function = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")(function)
    return click.option(
        "--debug",
        is_flag=True,
        expose_value=False,
        callback=_set_up_log,
        is_eager=True,
        help="Show tracebacks and the library's log.",
    )(function)


def _set_up_log(ctx: click.Context, param: click.Parameter, debug: bool) -> None:
    logging.basicConfig(
        stream=sys.stderr, format="hotlap: %(message)s", level=logging.DEBUG if debug else logging.WARNING
    )


def print_json(value: Any) -> None:
    """The value as one JSON document, two spaces deep, a newline at the end."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


def terminal() -> Console:
    """Where results for people go. Lines are only broken for a terminal: a file or a pipe gets them whole."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 10_000)


@contextmanager
def progress(title: str, total: float) -> Iterator[Callable[[float, str], None]]:
    """A bar on stderr, for what takes longer than two seconds; nothing where stderr is no terminal.

    Yields a function of (done so far, what is going on now).
    """
    if not sys.stderr.isatty():
        yield lambda done, what: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(title), BarColumn(), TimeElapsedColumn(), TextColumn("{task.fields[what]}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total, what="")
        yield lambda done, what: bar.update(task, completed=done, what=what)


def report_error(error: BaseException, *, debug: bool, as_json: bool) -> int:
    """Says what went wrong in one clear line (or JSON on stdout) and returns the exit code."""
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if debug:
        traceback.print_exception(error)
    text = "interrupted" if isinstance(error, KeyboardInterrupt | click.Abort) else _one_line(error)
    code = 130 if isinstance(error, click.Abort) else _exit_code(error)
    if as_json:
        print_json({"error": text, "kind": type(error).__name__})
    sys.stderr.write(f"hotlap: {text}\n")
    return code


def _exit_code(error: BaseException) -> int:
    return next((EXIT_CODES[kind] for kind in type(error).__mro__ if kind in EXIT_CODES), 70)


def _one_line(error: BaseException) -> str:
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, errors.HotlapError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return f"internal error, please report it: {type(error).__name__}: {error} (--debug shows where)"
