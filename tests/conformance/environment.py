"""The environment that the protocol's clients live in."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

__all__ = ["ROOT", "run"]

ROOT = Path(__file__).parents[2]
_PYTHON = ROOT / ".conformance" / "bin" / "python"


def run(script: Path, *arguments: str) -> str:
    """What a script prints there. Skips the test where the environment is missing, but fails it on a build
    machine (environment variable CI): there nothing may be skipped in silence."""
    if not _PYTHON.exists():
        missing = "the clients are not installed: `make conformance`"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    done = subprocess.run([_PYTHON, script, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout
