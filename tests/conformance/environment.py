"""The environment that the protocol's clients live in."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest

__all__ = ["ROOT", "missing", "run"]

ROOT = Path(__file__).parents[2]
_PYTHON = ROOT / ".conformance" / "bin" / "python"


def missing(what: str) -> NoReturn:
    """Skips the test, but fails it on a build machine (environment variable CI): there nothing may be skipped
    in silence."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


def run(script: Path, *arguments: str) -> str:
    """What a script prints there; `missing` where that environment is."""
    if not _PYTHON.exists():
        missing("the clients are not installed: `make conformance`")
    done = subprocess.run([_PYTHON, script, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout
