"""Other people's graph tools, each run in a process of its own: what crashes there is one clear error here.

A tool is a function of (source file, file to write, options); `TOOLS` names the module that holds each. The
files lie in one folder, and so do their external weights, as hard links mostly: whatever else a tool writes
there needs a name from `hotlap.passes.draft.free_name`.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import weakref
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from hotlap.bench.child import end_with_parent
from hotlap.bench.exchange import answer_and_end
from hotlap.bench.process import ask
from hotlap.errors import HotlapError, ModelError, StorageError
from hotlap.model.external import external_files
from hotlap.model.graph import load_graph
from hotlap.model.walk import Scope, Walk
from hotlap.passes.draft import Draft, free_name
from hotlap.passes.unplaced import unplaced

__all__ = ["TOOLS", "Job", "Scratch", "run_tool", "work"]

CHILD = "hotlap.passes.tools"
SECONDS = 900.0
"""How long a tool may take; folding a model of several GB takes minutes."""

TOOLS: dict[str, str] = {
    "convert": "hotlap.passes.convert_opset",
    "feeds": "hotlap.passes.feeding",
    "fold": "hotlap.passes.fold",
    "fuse": "hotlap.passes.fuse",
    "ranges": "hotlap.passes.ranges",
    "load": "hotlap.passes.loading",
    "rows": "hotlap.passes.rows",
    "infer": "hotlap.passes.shapes",
    "transformer": "hotlap.passes.transformer",
}
"""Name to the module that has it as the function `tool`."""


_READ_WEIGHTS = frozenset({"fold", "transformer"})


class Job(msgspec.Struct, kw_only=True):
    """What to do (JSON).

    Attributes:
        tool: of `TOOLS`.
        source, result: the file to read, and the one to write.
        options: the tool's own.
        outcome: the file to write the `Outcome` to.
    """

    tool: str
    source: str
    result: str
    options: dict[str, Any] = {}
    outcome: str


class Scratch:
    """A temporary folder that is gone when nobody holds this any more, or when Python ends.

    Attributes:
        path: the folder.

    Raises:
        StorageError: no room.
    """

    def __init__(self) -> None:
        try:
            self.path = Path(tempfile.mkdtemp(prefix="hotlap-passes-"))
        except OSError as error:
            raise StorageError(f"no room for temporary files: {error.strerror or error}") from error
        self._end = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def run_tool(tool: str, draft: Draft, options: Mapping[str, Any] | None = None) -> tuple[Path, Scratch]:
    """Let a tool read a draft and write a file.

    Returns:
        the written file, and the folder that holds it.

    Raises:
        TargetFailed: the tool crashed, hung or refused; its reason in one line.
        StorageError: no room for temporary files.
    """
    scratch = Scratch()
    # A folder of its own: the job's files must not meet those of the weights.
    folder = scratch.path / "files"
    folder.mkdir()
    # Graph libraries refuse files of weights with more than one link: one may lead out of the folder.
    source = draft.lay(folder, "source.onnx", link=tool not in _READ_WEIGHTS)
    result = folder / free_name("result.onnx", draft.files)
    job = Job(
        tool=tool,
        source=str(source),
        result=str(result),
        options=dict(options or {}),
        outcome=str(scratch.path / "outcome"),
    )
    with unplaced(scratch.path, *(kept.path for kept in draft.kept)):
        ask(CHILD, job, scratch.path, tool, SECONDS)
    return result, scratch


def rewritten(tool: str, draft: Draft, options: Mapping[str, Any] | None = None) -> Draft:
    """What a tool made of a draft. The face is the tool's: see `face.restored`.

    Raises:
        TargetFailed, StorageError: as for `run_tool`.
        ModelError: what it wrote is no model, or one in which something is missing.
    """
    result, scratch = run_tool(tool, draft, options)
    try:
        with unplaced(scratch.path):
            proto = load_graph(result)
            files = external_files(proto, result)
    except ModelError as error:
        raise ModelError(f"{tool}: what it wrote cannot be read: {error}; nothing was kept") from error
    if missing := _missing(Walk(proto)):
        raise ModelError(f"{tool}: it wrote a broken graph: {missing}; nothing was kept")
    return draft.refiled(proto, files, scratch)


def _missing(walk: Walk) -> str:
    """The first value that is read and that nothing makes; tools forget what inner graphs read."""
    for scope in walk.scopes:
        for node in scope.nodes:
            for value in node.inputs:
                if value and walk.home(scope, value) is None and not _sparse(scope, value):
                    return f'{node.label} reads "{value}", which nothing makes'
    return ""


def _sparse(scope: Scope, value: str) -> bool:
    """Whether it is a sparse weight, which `Walk` leaves out."""
    here: Scope | None = scope
    while here is not None:
        if any(s.values.name == value for s in getattr(here.proto, "sparse_initializer", ())):
            return True
        here = here.outer
    return False


def work(job: Job) -> None:
    """Do a job in this process.

    Raises:
        HotlapError: the tool's own, or what it met, in one line.
    """
    tool = import_module(TOOLS[job.tool]).tool
    try:
        tool(Path(job.source), Path(job.result), **job.options)
    except HotlapError:
        raise
    except Exception as error:
        first: BaseException = error
        while first.__cause__ is not None:  # a tool's passes wrap what they met once each
            first = first.__cause__
        raise ModelError(f"{type(first).__name__}: {first}") from error


def main() -> None:
    job = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Job)
    end_with_parent()
    answer_and_end(partial(work, job), job.outcome)


if __name__ == "__main__":
    main()
