"""From the targets of a command line to models that are ready to be served: `load`."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from hotlap.cpus import usable_threads
from hotlap.errors import HotlapError, PlanError, UsageError
from hotlap.plan import Facts, Plan, Serve
from hotlap.runtime import open as open_model
from hotlap.runtime.modelfile import has_loop
from hotlap.runtime.opening import PLAN_NAME, find_plan
from hotlap.runtime.probe import probed
from hotlap.serve.labels import labels_of
from hotlap.serve.served import Served

__all__ = ["Share", "load", "name_of", "share_of"]

log = logging.getLogger("hotlap.serve")

Target = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Share:
    """What one model gets of the CPUs.

    Attributes:
        threads: inside of a call, the calling one included.
        lanes: calls at the same time.
        spin: whether waiting threads stay awake.
    """

    threads: int
    lanes: int
    spin: str

    @property
    def running(self) -> int:
        """Threads that compute when all lanes are busy: the lanes share the session's own."""
        return self.threads - 1 + self.lanes


def share_of(plan: Plan, cpus: int, models: int = 1) -> Share:
    """What the plan says; and of what it leaves open, as much as the CPUs carry.

    `threads - 1 + lanes` threads compute at once, and should be no more than the CPUs that there are for this
    model. Where nothing is said, half of those are lanes, at least two: lanes carry many callers, threads
    make a call fast for one.

    Args:
        cpus: that the process may use.
        models: that share them.
    """
    serve = plan.serve or Serve()
    mine = max(1, cpus // models)
    lanes, threads = serve.lanes, plan.threads
    if lanes is None:
        lanes = max(1, mine - threads + 1) if threads else max(min(2, mine), mine // 2)
    if threads is None:
        threads = max(1, mine - lanes + 1)
    spin = serve.spin or ("off" if lanes > 1 or models > 1 else plan.spin)
    return Share(threads, lanes, spin)


def load(
    targets: Sequence[Target | tuple[str, Target]],
    *,
    allow_custom_ops: Sequence[str] = (),
    instead: Mapping[str, Any] | None = None,
) -> list[Served]:
    """Loads models, each with its share of the CPUs. They are warmed when an `Engine` starts.

    Args:
        targets: models (.onnx, .ort), plans (.toml), or folders that hold a plan.toml; with a name before it
            where it is not to be served under its own.
        allow_custom_ops: shared libraries that the plans may load, spelt as the plans spell them.
        instead: fields of `Serve` that count instead of the plans' own.

    Returns:
        In the order of the targets.

    Raises:
        UsageError: no target, or two of the same name.
        ModelError, PlanError, ProviderUnavailable, MissingExtra: as `hotlap.open`.
    """
    if not targets:
        raise UsageError("no model is named: give a model file or a plan")
    named = [t if isinstance(t, tuple) else (name_of(t), t) for t in targets]
    names = [name for name, _ in named]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f'two targets would be served as "{name}": give one another name (NAME=FILE)')
    cpus = usable_threads()
    loaded: list[Served] = []
    try:
        for name, target in named:
            loaded.append(_load(name, target, cpus, len(named), allow_custom_ops, instead or {}))
    except BaseException:
        for served in loaded:
            served.runner.close()
        raise
    running = sum(s.runner.threads - 1 + s.lanes for s in loaded)
    if running > cpus:
        log.warning(
            "%d threads compute when all lanes are busy, on %d CPUs, so they take turns: fewer --lanes, or "
            "`threads` of a plan, make them as many as the CPUs",
            running,
            cpus,
        )
    return loaded


def name_of(target: Target) -> str:
    """What a target is served as: the stem of a model or a plan; of ``m.lap/plan.toml``, its folder's."""
    path = Path(target)
    if path.name == PLAN_NAME:
        path = path.absolute().parent
    return path.stem or path.absolute().stem


def _load(
    name: str, target: Target, cpus: int, models: int, allowed: Sequence[str], instead: Mapping[str, Any]
) -> Served:
    plan, model, _ = find_plan(target, None)
    serve = msgspec.structs.replace(plan.serve or Serve(), **instead)
    plan = msgspec.structs.replace(plan, serve=serve)
    share = share_of(plan, cpus, models)
    facts = _facts(name, plan, model, serve)
    spin = _spin(name, plan, share)
    runner = open_model(target, threads=share.threads, spin=spin, warm=False, allow_custom_ops=tuple(allowed))
    log.info("%s: %d lanes, %d threads a call, spin %s", name, share.lanes, runner.threads, spin)
    return Served(
        name=name,
        runner=runner,
        facts=facts,
        serve=serve,
        lanes=share.lanes,
        loops=has_loop(model),
        labels=labels_of(model),
    )


def _spin(name: str, plan: Plan, share: Share) -> str:
    if share.spin == plan.spin:
        return plan.spin
    try:
        msgspec.structs.replace(plan, spin=share.spin)
    except PlanError as error:
        log.warning("%s: spin stays %s: %s", name, plan.spin, error)
        return plan.spin
    if plan.serve is None or plan.serve.spin is None:
        log.info("%s: spin off, as lanes or models share the cores; [serve] spin decides otherwise", name)
    return share.spin


def _facts(name: str, plan: Plan, model: Path, serve: Serve) -> Facts:
    """The plan's, or what probing finds: that is needed for batches alone."""
    if plan.facts is not None or serve.max_batch == 1:
        return plan.facts or Facts()
    if plan.named_code():
        log.info("%s: not probed, as its plan loads code; requests share no call without [facts]", name)
        return Facts(why="the plan loads code, so the model was not probed")
    try:
        return probed(model, providers=plan.providers)
    except HotlapError as error:
        log.warning("%s: not probed, so its requests share no call: %s", name, error)
        return Facts(why="probing failed")
