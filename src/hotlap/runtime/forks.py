"""After a fork: the child's copy of a session has lost its threads, and must not be touched any more.

Running it hangs or works with one thread; destroying it waits for threads that are not there, or for a lock
that was held when the process forked. So the child keeps it, unused, until it ends; and its end skips the
destructors of ORT's library, which wait as well (seen with 1.32, even where no session was built).
"""

from __future__ import annotations

import ctypes
import os
import sys
import weakref
from typing import Any, Protocol

__all__ = ["abandon", "watch"]


class _Forked(Protocol):
    def _after_fork(self) -> None: ...


_watched: weakref.WeakSet[Any] = weakref.WeakSet()


def watch(runner: _Forked) -> None:
    """In every forked child `_after_fork` is called, as long as the runner lives."""
    _watched.add(runner)


def abandon(*things: object) -> None:
    """Keeps the things for the rest of the process, whoever else lets go of them, its end included."""
    for thing in things:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _in_child() -> None:
    runners = list(_watched)
    for runner in runners:
        runner._after_fork()
    if runners:
        _leave_without_destructors()


def _leave_without_destructors() -> None:
    """At the end of this process, after Python's own clearing up, what is written to C's streams is flushed
    and the process leaves at once. Handlers of `atexit.register` run as ever."""
    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None)
    if hasattr(libc, "on_exit") and hasattr(libc, "__cxa_atexit"):  # not in every C library
        libc.on_exit(libc._exit, None)  # handlers run last in, first out: before those of libraries
        libc.__cxa_atexit(libc.fflush, None, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
