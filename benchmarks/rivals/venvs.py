"""A virtual environment for each rival, below .rivals/: made once, and again when its versions change."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
VENVS = HERE.parents[1] / ".rivals"
VERSIONS = """
import importlib.metadata, json
print(json.dumps({d.metadata["Name"].lower(): d.version for d in importlib.metadata.distributions()}))
"""


class Missing(Exception):
    """What cannot be had here; its text completes "skipped, because"."""


def pins(name: str) -> list[str]:
    """What pip installs for that rival: its own versions, and the onnxruntime that is installed here."""
    lines = (HERE / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    wanted = [stripped for line in lines if (stripped := line.partition("#")[0].strip())]
    return wanted if name == "tritonclient" else [*wanted, f"onnxruntime=={version('onnxruntime')}"]


def ready(name: str) -> Path:
    """The folder of the rival's programs, its python among them; installed if need be.

    Raises:
        Missing: its packages could not be installed.
    """
    venv = VENVS / name
    if not is_ready(name):
        print(f"{name}: installing into {venv.relative_to(VENVS.parent)}", flush=True)
        _do(name, sys.executable, "-m", "venv", "--clear", str(venv))
        pip = (str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        _do(name, *pip, *pins(name))
        _mark(name).write_text(_digest(name), encoding="ascii")
    return venv / "bin"


def is_ready(name: str) -> bool:
    """Whether what is installed for it is what its .txt wants today."""
    mark = _mark(name)
    return mark.exists() and mark.read_text(encoding="ascii") == _digest(name)


def _mark(name: str) -> Path:
    return VENVS / name / ".ready"


def _digest(name: str) -> str:
    return hashlib.sha256("\n".join([sys.version, *pins(name)]).encode()).hexdigest()


def versions(name: str) -> dict[str, str]:
    """The versions installed for a rival of what its .txt names, and of onnxruntime."""
    command = [str(VENVS / name / "bin" / "python"), "-c", VERSIONS]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    names = [pin.partition("==")[0].partition("<")[0].partition("[")[0] for pin in pins(name)]
    return {n: found[n] for n in names}


def _do(name: str, *command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise Missing(f"{name} does not install: {last}")
