"""What loading and running a model shows, gathered in processes of their own: `gather`."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hotlap.bench import load_feeds, save_feeds
from hotlap.bench.process import ask, temporary_folder
from hotlap.errors import MissingExtra, ModelError, TargetFailed, UsageError
from hotlap.inspect.case import Ran, Range
from hotlap.inspect.measuring import spread
from hotlap.inspect.stages import NOW, Answer, Request, Stage, read_answer
from hotlap.model import Model
from hotlap.model.graph import load_graph
from hotlap.model.walk import Walk

__all__ = ["APART", "Evidence", "gather", "stages_of"]

log = logging.getLogger("hotlap.inspect")

CHILD = "hotlap.inspect.child"
APART = 1 << 30
"""Bytes of a model above which ORT writes its executed graph's weights into a file beside it: protobuf ends
at 2 GB, and what is read back here is the graph alone."""
MOST_RANGED = 768 << 20
"""Bytes of a model above which no ranges are measured: they need a copy of it, up to twice as large, which
must fit into protobuf's 2 GB."""

Feed = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Evidence:
    """`ran` (None: it was not run), and what could not be learned: one line each, with the reason."""

    ran: Ran | None
    unknown: tuple[str, ...] = ()


def gather(
    model: Model,
    *,
    providers: Sequence[str] = ("cpu",),
    data: str | Path | Sequence[Feed] | None = None,
    ranges: bool = False,
    timeout: float = 300.0,
) -> Evidence:
    """Loads the model, probes it, and reads back the graph that ORT executes.

    Args:
        model: with its external weights in order.
        providers: short names, first choice first; the CPU takes what they do not.
        data: the user's inputs: a .npz file, a folder of them, or feeds; None: they are made.
        ranges: measure what each float value of the graph holds.
        timeout: seconds after which a process counts as hung. A stage that hangs, or ends the process, is
            left out, and a new process goes on behind it.

    Raises:
        UsageError, InputError: `data` holds no input.
        MissingExtra: onnxruntime is not installed.
        StorageError: no room for temporary files.
    """
    unknown: list[str] = []
    with temporary_folder() as folder:
        request = Request(
            model=str(model.path.absolute()),
            providers=list(providers),
            stages=stages_of(model, ranges, folder, unknown),
            folder=str(folder),
            feeds=_feeds(data, folder),
            limits=model.id_limits(),
            outputs=list(model.outputs),
            apart=model.size > APART,
            outcome=str(folder / "outcome"),
        )
        ended = _ask(request, folder, str(model.path), timeout)
        ran = _ran(request, folder, ended, "generated" if data is None else "yours", unknown)
    return Evidence(ran, tuple(unknown))


def stages_of(model: Model, ranges: bool, folder: Path, unknown: list[str]) -> list[Stage]:
    """What is to be done; what is left out goes to `unknown` with the reason."""
    stages: list[Stage] = ["load", "probe"]
    if shutil.disk_usage(folder).free > 2 * model.size:
        stages.append("executed")
    else:
        unknown.append(f"the graph that is executed: no room in {folder.parent} to write it")
    if ranges and model.size <= MOST_RANGED:
        stages.append("ranges")
    elif ranges:
        unknown.append(f"ranges of values: the model is larger than {MOST_RANGED >> 20} MiB")
    return stages


def _feeds(data: str | Path | Sequence[Feed] | None, folder: Path) -> str:
    if data is None:
        return ""
    feeds = load_feeds(data) if isinstance(data, str | Path) else [dict(feed) for feed in data]
    if not feeds:
        raise UsageError("data: holds no input")
    return str(save_feeds(folder / "feeds", spread(feeds)))


def _ask(request: Request, folder: Path, label: str, timeout: float) -> dict[Stage, str]:
    """Runs all stages. Stage to how its process ended, for those that ended it."""
    ended: dict[Stage, str] = {}
    left = list(request.stages)
    while left:
        request.stages = left
        (folder / NOW).unlink(missing_ok=True)
        try:
            ask(CHILD, request, folder, label, timeout)
        except TargetFailed as error:
            if isinstance(error.__cause__, MissingExtra):
                raise error.__cause__ from error
            stage = _under_way(folder, left)
            ended[stage] = str(error).removeprefix(f"{label}: ")
            log.debug("%s: stage %s: %s", label, stage, error)
            if stage == "load":
                break
            left = left[left.index(stage) + 1 :]
        else:
            break
    return ended


def _under_way(folder: Path, left: list[Stage]) -> Stage:
    try:
        name = (folder / NOW).read_text("utf-8")
    except OSError:
        return left[0]
    return next((stage for stage in left if stage == name), left[0])


def _ran(request: Request, folder: Path, ended: Mapping[Stage, str], data: str, unknown: list[str]) -> Ran:
    def found(stage: Stage) -> Answer:
        return read_answer(folder, stage) or Answer(error=ended.get(stage, ""))

    loaded, probed = found("load"), found("probe")
    if loaded.error:
        return Ran(refusal=loaded.error.removeprefix(f"{request.model}: "), data=data)
    executed, ranges = found("executed"), found("ranges")
    if probed.error:
        unknown.append(f"what running shows: {probed.error}")
    walk = _executed(executed, unknown)
    if ranges.error:
        unknown.append(f"ranges of values: {ranges.error}")
    return Ran(
        failure=probed.error,
        facts=probed.facts,
        executed=walk,
        placement={name: tuple(ops) for name, ops in loaded.placement.items()},
        copies=0 if walk is None else sum(1 for _ in walk.nodes("MemcpyFromHost", "MemcpyToHost")),
        provider_refusals=loaded.refusals,
        ranges={name: Range(low, high, finite) for name, (low, high, finite) in ranges.ranges.items()},
        data=data,
    )


def _executed(answer: Answer, unknown: list[str]) -> Walk | None:
    if answer.file:
        try:
            return Walk(load_graph(Path(answer.file)))
        except ModelError as error:
            answer = Answer(error=str(error))
    if answer.error:
        unknown.append(f"the graph that is executed: {answer.error}")
    return None
