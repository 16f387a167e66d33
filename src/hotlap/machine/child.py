"""Questions for a process of its own: importing onnxruntime, loading a provider, loading a shared library.

Any of these can crash, hang, print, or change the process for good. So the parent calls `ask`, and `answer`
runs in the child and says one line of JSON.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Answer", "answer", "ask"]

_MARK = "hotlap-answer:"
_SECONDS = 120.0  # importing onnxruntime and starting CUDA from a cold disk takes tens of seconds
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a child said.

    Attributes:
        values: its answer; {} where it gave none.
        failure: why there is no answer ("killed by signal 11", "no answer within 120 s"); "" where there is.
        said: what it and the libraries in it wrote to stderr, without colours.
    """

    values: dict[str, Any]
    failure: str
    said: str


def ask(question: str, *arguments: str, seconds: float = _SECONDS) -> Answer:
    """Puts one question to a child process with this process's environment. Never raises.

    Args:
        question: ``"import"`` (none); ``"provider"`` (hotlap's short name); ``"library"`` (path, then the
            names of libraries to try one by one).
    """
    # -P: a file onnxruntime.py in the working folder must not answer for the real one.
    command = [sys.executable, "-P", "-c", f"from {__name__} import answer; answer()", question, *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=seconds, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return Answer({}, f"no answer within {seconds:g} s", "")
    except OSError as error:
        return Answer({}, f"cannot start a process: {error}", "")
    said = _COLOUR.sub("", done.stderr.decode(errors="replace"))
    for line in reversed(done.stdout.decode(errors="replace").splitlines()):
        if line.startswith(_MARK):
            return Answer(json.loads(line.removeprefix(_MARK)), "", said)
    return Answer({}, _ending(done.returncode, said), said)


def _ending(code: int, said: str) -> str:
    if code < 0:
        return f"killed by signal {-code}"
    last = next((line for line in reversed(said.splitlines()) if line.strip()), "it said nothing")
    return f"exit code {code}: {last.strip()}"


# ── in the child ──────────────────────────────────────────────────────────────────────────────────────


def _import() -> dict[str, Any]:
    """Imports onnxruntime: its version, file, CUDA version and compiled-in providers; or what was raised."""
    try:
        ort = importlib.import_module("onnxruntime")
        return {
            "version": ort.__version__,
            "file": ort.__file__ or "",
            "cuda": getattr(ort, "cuda_version", "") or "",
            "providers": list(ort.get_available_providers()),
        }
    except Exception as error:  # noqa: BLE001  an extension that does not fit raises whatever it likes
        return {"kind": type(error).__name__, "error": str(error), "missing": getattr(error, "name", None)}


def _provider(name: str) -> dict[str, Any]:
    from hotlap.runtime.loading import provider_status

    return asdict(provider_status(name))


def _library(path: str, *needed: str) -> dict[str, Any]:
    """Loads a shared library; where that fails, tries each that it needs and names those that fail."""
    error = _load(path)
    return {"error": error, "missing": [name for name in needed if _load(name)] if error else []}


def _load(library: str) -> str:
    try:
        ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        return str(error) or "the loader gave no reason"
    return ""


_QUESTIONS: dict[str, Callable[..., dict[str, Any]]] = {
    "import": _import,
    "provider": _provider,
    "library": _library,
}


def answer() -> None:
    """In the child: answers the question on its command line."""
    question, *arguments = sys.argv[1:]
    values = _QUESTIONS[question](*arguments)
    # On a line of its own: libraries print to stdout as well.
    sys.stdout.write(f"\n{_MARK}{json.dumps(values)}\n")
