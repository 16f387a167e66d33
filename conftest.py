"""Runs the code blocks of README.md and docs/: what they show is what happens.

- ``python`` blocks run in order, one namespace a page.
- ``bash`` blocks run line by line, each must exit 0, in a folder that holds `model.onnx` (a small text-free
  network: input x float32[batch, 16], output y float32[batch, 4]), `x.npy` and 64 feeds in `data/`.
- ``toml`` blocks must be plans.
- A block right after ``<!-- not run: reason -->`` is shown as skipped, with the reason.
- ``text`` blocks are output and are not run. Any other language fails the page.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from sybil import Document, Example, Region, Sybil
from sybil.evaluators.python import PythonEvaluator

_BLOCK = re.compile(
    r"^(?P<note><!--\s*not run:(?P<why>[^>]*)-->\n)?^```(?P<lang>[\w-]*)[^\n]*\n(?P<body>.*?)^```\s*$",
    re.MULTILINE | re.DOTALL,
)
_python = PythonEvaluator()
os.environ.pop("COLUMNS", None)  # whoever runs the tests: output is to be as wide as for a file


def _run_block(example: Example) -> str | None:
    lang, why = example.parsed.lang, example.parsed.why
    if why is not None:
        pytest.skip(f"not run: {why.strip()}")
    if lang == "python":
        example.parsed = example.parsed.body
        return _python(example)
    if lang == "bash":
        _bash(example.parsed.body, example.namespace["folder"])
    elif lang == "toml":
        from hotlap import Plan

        Plan.loads(example.parsed.body)
    else:
        raise AssertionError(f"a block in {lang or 'no language'}: use python, bash, toml or text")
    return None


def _bash(script: str, folder: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode:
        raise AssertionError(f"exit code {done.returncode}\n{script}\n{done.stdout}\n{done.stderr}")


class _Block:
    """What a fenced block holds; `PythonEvaluator` needs the text to know its own line offset."""

    def __init__(self, lang: str, body: str, why: str | None) -> None:
        self.lang, self.body, self.why = lang, body, why


class _Source(str):
    line_offset = 0


def _parse(document: Document) -> Iterable[Region]:
    for match in _BLOCK.finditer(document.text):
        if match["lang"] == "text":
            continue
        body = _Source(match["body"])
        yield Region(match.start(), match.end(), _Block(match["lang"], body, match["why"]), _run_block)


def _setup(namespace: dict[str, Any]) -> None:
    import numpy as np

    from tests import tiny

    temporary = tempfile.TemporaryDirectory()
    folder = Path(temporary.name)
    namespace.update(folder=folder, _temporary=temporary, _home=Path.cwd())
    rng = np.random.default_rng(0)
    tiny.save(tiny.mlp(), folder / "model.onnx")
    np.save(folder / "x.npy", rng.standard_normal((1, 16)).astype(np.float32))
    (folder / "data").mkdir()
    for i in range(64):
        np.savez(folder / "data" / f"{i:03}.npz", x=rng.standard_normal((1, 16)).astype(np.float32))
    os.chdir(folder)


def _teardown(namespace: dict[str, Any]) -> None:
    os.chdir(namespace["_home"])
    namespace["_temporary"].cleanup()


# Below Python 3.13 a ** in a pattern is one folder.
_PAGES = ["README.md", "docs/*.md", "docs/*/*.md", "docs/*/*/*.md"]
pytest_collect_file = Sybil(parsers=[_parse], patterns=_PAGES, setup=_setup, teardown=_teardown).pytest()
