"""The one door to onnxruntime (ORT): loaded at first use, its version checked, its exceptions translated.

Nothing else of hotlap's hot rooms imports it, so `import hotlap` stays light and a machine without it gets
one line instead of a traceback.
"""

from __future__ import annotations

import importlib
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from hotlap.errors import HotlapError, InputError, MissingExtra, ModelError, ProviderUnavailable, Unavailable

__all__ = [
    "MINIMUM",
    "clear_line",
    "exceptions",
    "is_short_of_memory",
    "load",
    "load_error",
    "raised",
    "run_error",
    "translated",
]

MINIMUM = (1, 24, 4)
"""The oldest ORT that hotlap runs on."""

_TAG = re.compile(r"\[ONNXRuntimeError\] : \d+ : [A-Z_]+ : ")
_LOADING = re.compile(r"Load model from .*? failed: ?")
_SOURCE = re.compile(
    r"\S+\.(?:cc|cpp|cu|cuh|h|hpp):\d+ "  # a source file and line
    r"(?:[^()]*::[^()]*\([^()]*\)(?: const)?(?: \[with [^\]]*\])?|\w+) "  # the function there
    r"(?:.{0,200}? was false\. )?"  # the C++ condition that failed
)
_NODE = re.compile(
    r"Non-zero status code returned while running (\w+) node\. Name:'([^']*)' Status Message: "
)
_ABOUT_PROVIDERS = frozenset({"EPFail", "EngineError", "DeviceReset"})
_MAKERS = frozenset({"builtins", "numpy", "onnxruntime"})
"""Packages whose classes a call into ORT raises: numpy has one of its own for arrays that do not fit."""
_CALLERS = frozenset({"hotlap", "onnxruntime"})
"""Packages that a trace leads through from hotlap's call to ORT's own half in C++."""
_NO_MEMORY = ("bad_alloc", "bad allocation", "Failed to allocate memory")
_LONGEST = 400
_READ = 4000


@cache
def load() -> Any:
    """The module ``onnxruntime``.

    Raises:
        MissingExtra: it is not installed.
        Unavailable: it is installed but does not import, or is older than `MINIMUM`.
    """
    try:
        module = importlib.import_module("onnxruntime")
    except ModuleNotFoundError as error:
        if error.name == "onnxruntime":
            raise MissingExtra("cpu", "running a model") from error
        raise _broken(error) from error
    except Exception as error:  # an extension built for another numpy raises whatever it likes
        raise _broken(error) from error
    if not hasattr(module, "InferenceSession"):
        # What is left when onnxruntime and onnxruntime-gpu were both installed and one was removed again.
        raise Unavailable(
            "onnxruntime is only half installed (onnxruntime and onnxruntime-gpu share files, and removing "
            "one breaks the other): pip install --force-reinstall onnxruntime"
        )
    if _numbers(module.__version__) < MINIMUM:
        oldest = ".".join(map(str, MINIMUM))
        raise Unavailable(
            f"onnxruntime {module.__version__} is too old, hotlap needs {oldest} or newer: "
            "pip install --upgrade onnxruntime"
        )
    return module


def _broken(error: Exception) -> Unavailable:
    said = clear_line(str(error)) or type(error).__name__
    return Unavailable(
        f"onnxruntime is installed but does not import beside numpy {np.__version__}: {said}; "
        "pip install --upgrade --force-reinstall onnxruntime numpy"
    )


def _numbers(version: str) -> tuple[int, ...]:
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in found.group().split(".")) if found else ()


def exceptions() -> tuple[type[Exception], ...]:
    """Every kind of exception that a call into ORT raises; they share no base class but Exception."""
    names = vars(load().capi.onnxruntime_pybind11_state).values()
    own = tuple(n for n in names if isinstance(n, type) and issubclass(n, Exception))
    # pybind11 turns C++ exceptions that ORT did not make into these; ORT's Python half raises them as well.
    return (*own, RuntimeError, ValueError, TypeError, MemoryError)


def raised() -> tuple[type[Exception], ...]:
    """What an `except` clause around a call into ORT catches: `exceptions`, unless somebody else raised what
    was raised.

    A signal handler, or a callback of the user's, may raise within the call. Its own class shows that ORT did
    not; one of Python's own does not, but the trace leads through the handler.
    """
    error = sys.exception()
    made_by = type(error).__module__.partition(".")[0]
    return () if made_by not in _MAKERS or _through_a_handler(error) else exceptions()


def _through_a_handler(error: BaseException | None) -> bool:
    """Whether a signal handler raised it that is still the handler of its signal."""
    strange, trace = set(), error.__traceback__ if error is not None else None
    while trace is not None:
        if str(trace.tb_frame.f_globals.get("__name__")).partition(".")[0] not in _CALLERS:
            strange.add(trace.tb_frame.f_code)
        trace = trace.tb_next
    if not strange:  # as in nearly all: looking at every handler takes longer than a small model's call
        return False
    handlers = (signal.getsignal(number) for number in signal.valid_signals())
    return any(_code(handler) in strange for handler in handlers if callable(handler))


def _code(handler: Any) -> Any:
    """What runs where it is called: of a function, a method, or an object that can be called."""
    function = getattr(handler, "__func__", handler)
    return getattr(function, "__code__", None) or getattr(type(handler).__call__, "__code__", None)


def is_short_of_memory(error: Exception) -> bool:
    """Whether this is why ORT failed; the same call may succeed later."""
    said = str(error)[:_READ]
    return isinstance(error, MemoryError) or any(words in said for words in _NO_MEMORY)


def clear_line(text: str) -> str:
    """An ORT message as one line, without tags, source paths, C++ signatures and conditions."""
    # Names in it are the model's: the patterns would take hours over one of a megabyte.
    text = " ".join(text[:_READ].split()) + " "
    text = _SOURCE.sub("", _LOADING.sub("", _TAG.sub("", text)))
    text = text.replace("Exception during initialization: ", "")
    text = _NODE.sub(lambda m: f'node {m[1]} "{m[2]}": ' if m[2] else f"node {m[1]}: ", text).strip()
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def load_error(error: Exception, where: str) -> HotlapError:
    """What ORT raised while it built a session, as ours: `where` names the model."""
    said = clear_line(str(error))
    kind = type(error).__name__
    if kind in _ABOUT_PROVIDERS:
        return ProviderUnavailable(f"{where}: {said}")
    if kind == "InvalidProtobuf":
        return ModelError(f"{where}: not an ONNX file, or a truncated one: its protobuf does not parse")
    if is_short_of_memory(error):
        return ModelError(f"{where}: loading it takes more memory than this process can have")
    return ModelError(f"{where}: ONNX Runtime does not load it: {said}")


def run_error(error: Exception) -> HotlapError:
    """What ORT raised while it ran a feed that had passed the input check, as ours."""
    said = clear_line(str(error))
    if type(error).__name__ in _ABOUT_PROVIDERS:
        return ProviderUnavailable(f"the execution provider failed while it ran: {said}")
    if is_short_of_memory(error):
        return ModelError(f"running the model takes more memory than this process can have: {said}")
    return InputError(f"the model does not take this feed: {said}")


@contextmanager
def translated(where: str) -> Iterator[None]:
    """ORT's exceptions raised in the block come out as hotlap's, with the original as their cause."""
    try:
        yield
    except HotlapError:
        raise
    except raised() as error:
        raise load_error(error, where) from error
