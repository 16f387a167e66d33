"""What every verb shares: the options --json and --debug, output, progress, and the table of exit codes.

Results go to stdout; progress, log lines and errors go to stderr.
"""

from __future__ import annotations

import _thread
import contextlib
import io
import json
import logging
import os
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
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
_IMPORT_PATIENCE = 0.02
"""Seconds until a signal that came while a module was imported is looked at again."""
_LONGEST_LINE = 1200
_NARROWEST = 40
"""Columns. In less, tables lose theirs without a word; a terminal breaks longer lines by itself."""


_signals: list[int] = []
"""That asked the process to end."""


class Ended(BaseException):
    """Asked to end by a signal other than Ctrl-C's; on its way out every `with` cleans up behind itself."""

    def __init__(self, number: int) -> None:
        self.signal = number
        super().__init__(number)


def prepare() -> None:
    """What the command line sets in its process: how it ends, and where it may write.

    Without a handler, SIGTERM and SIGHUP end Python on the spot, and temporary folders stay.
    """
    usual = {"SIGTERM": signal.SIG_DFL, "SIGHUP": signal.SIG_DFL, "SIGINT": signal.default_int_handler}
    main_thread = threading.current_thread() is threading.main_thread()  # others may set no handler
    for name, before in usual.items():
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and main_thread and signal.getsignal(number) == before:  # nohup has it ignored
            signal.signal(number, _end)
    # Closed ones are None, on which nothing can be written.
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):  # names of files may be no text
        sys.stdout.reconfigure(errors="backslashreplace")


def _end(number: int, frame: FrameType | None) -> None:
    if _imports(frame):
        # Libraries written in C crash, or come out half made, where an exception ends their import.
        _thread.start_new_thread(_again, (number,))  # threading's own has locks, which may be held here
        return
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    _signals.append(number)
    raise Ended(number)


def _again(number: int) -> None:
    time.sleep(_IMPORT_PATIENCE)
    os.kill(os.getpid(), number)


def _imports(frame: FrameType | None) -> bool:
    """Whether a module is being imported there."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def check_ended() -> None:
    """Raises Ended once more where it was lost: callbacks from C throw it away. For who is about to wait for
    ever."""
    if _signals:
        raise Ended(_signals[0])


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
    try:
        text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except UnicodeEncodeError:  # the name of a file that is no text
        text = json.dumps(msgspec.to_builtins(value), indent=2)
    sys.stdout.write(f"{text}\n")


def terminal() -> Console:
    """Where results for people go. Lines are only broken for a terminal: a file or a pipe gets them whole."""
    from rich.console import Console

    return Console(highlight=False, width=_width())


def _width() -> int:
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said):
        return max(int(said), _NARROWEST)
    # Some terminals say that they have 0 columns.
    return max(shutil.get_terminal_size().columns, _NARROWEST) if sys.stdout.isatty() else 10_000


@contextmanager
def progress(
    title: str, total: float, *, lines_after: float | None = None
) -> Iterator[Callable[[float, str], None]]:
    """A bar on stderr, for what takes longer than two seconds; nothing where stderr is no terminal.

    Args:
        title: what takes so long.
        total: how much there is to do.
        lines_after: where stderr is no terminal, a line for each thing that goes on, as it comes up first, so
            many seconds after the start; what is wrong with the input is told alone by then. None: nothing.

    Yields a function of (done so far, what is going on now).
    """
    if not sys.stderr.isatty():
        said: set[str] = set()
        start = time.monotonic()

        def tell(done: float, what: str) -> None:
            if lines_after is not None and time.monotonic() - start >= lines_after and what not in said:
                said.add(what)
                click.echo(f"{title}: {what}", err=True)

        yield tell
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
    text = "interrupted" if isinstance(error, KeyboardInterrupt | click.Abort | Ended) else _one_line(error)
    code = 130 if isinstance(error, click.Abort) else _exit_code(error)
    if isinstance(error, Ended):
        code = 128 + error.signal
    if as_json:
        with contextlib.suppress(OSError):  # stdout may be what failed
            print_json({"error": text, "kind": type(error).__name__})
    sys.stderr.write(f"hotlap: {text}\n")
    return code


def printable(line: str) -> str:
    """Names come from models, plans and archives: no terminal may obey them, and none may fill the screen."""
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    half = _LONGEST_LINE // 2
    return line if len(line) <= _LONGEST_LINE else f"{line[:half]} … {line[-half:]}"


def _exit_code(error: BaseException) -> int:
    return next((EXIT_CODES[kind] for kind in type(error).__mro__ if kind in EXIT_CODES), 70)


def _one_line(error: BaseException) -> str:
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, errors.InputError):
        return "\n".join(map(printable, error.problems))
    return printable(_said(error))


def _said(error: BaseException) -> str:
    if isinstance(error, errors.HotlapError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return f"internal error, please report it: {type(error).__name__}: {error} (--debug shows where)"
