"""`hotlap.open`: from a model file, a plan, or a folder that holds both, to a Runner."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from hotlap.errors import ModelError, PlanError, UsageError
from hotlap.plan import Plan
from hotlap.providers import provider_named
from hotlap.runtime.modelfile import check_model_file
from hotlap.runtime.recipe import OnFork, Recipe
from hotlap.runtime.runner import Runner
from hotlap.tensors import nearest

__all__ = ["find_plan", "open"]

PLAN_NAME = "plan.toml"


def open(
    model_or_plan: str | os.PathLike[str] | Plan,
    *,
    providers: str | Sequence[str] | None = None,
    threads: int | None = None,
    spin: str | None = None,
    provider: Mapping[str, Mapping[str, Any]] | None = None,
    session: Mapping[str, str | int | float | bool] | None = None,
    warm: bool = True,
    allow_custom_ops: Sequence[str] = (),
    folder: str | os.PathLike[str] | None = None,
    on_fork: OnFork = "raise",
    debug: bool | None = None,
    workers: int | None = None,
    waiting: int = 256,
) -> Runner:
    """Loads a model as its plan says, or as the arguments say, and warms it.

    Args:
        model_or_plan: a model (.onnx, .ort), a plan (.toml), a folder that holds a plan.toml, or a Plan.
        providers: execution providers, first choice first; one name or several. What is asked for is what
            runs: the CPU helps only where "cpu" is among them.
        threads: threads inside one call, the calling one included. None: from affinity and CPU quota.
        spin: "on", "off", or "<n>us": how long idle threads busy-wait for the next call.
        provider: options of providers, by short name; added to the plan's.
        session: ORT session options; added to the plan's.
        warm: run the model once before returning, so that the first caller does not pay for it.
        allow_custom_ops: shared libraries that the plan may load, spelt as the plan spells them.
        folder: what relative paths of a Plan value are relative to; None: the working folder. A plan file's
            are relative to the file.
        on_fork: what a call does in a process that was forked after this: "raise" an error that says so, or
            "rebuild" the session there.
        debug: overwrite what `borrow` lent after its block. None: where Python runs in development mode
            (``python -X dev``).
        workers: calls of `arun` that run at the same time; None: as many as the CPUs carry.
        waiting: calls of `arun` that may wait for their turn; one more is refused.

    Raises:
        UsageError: an argument makes no sense.
        ModelError: the model is missing, broken, or refused by ONNX Runtime.
        PlanError: the plan or an argument says something impossible, or the plan is for another model.
        ProviderUnavailable: what was asked for does not load here, or does not take the model.
        MissingExtra: onnxruntime is not installed.
    """
    plan, model, home = find_plan(model_or_plan, folder)
    plan = _overridden(plan, providers, threads, spin, provider, session)
    recipe = Recipe(
        plan=plan,
        model=model,
        folder=home,
        allowed=tuple(allow_custom_ops),
        on_fork=_one_of(on_fork, ("raise", "rebuild")),
        debug=sys.flags.dev_mode if debug is None else debug,
        workers=workers,
        waiting=waiting,
    )
    if (workers is not None and workers < 1) or waiting < 0:
        raise UsageError("workers must be 1 or more, waiting 0 or more")
    runner = Runner(recipe, recipe.load())
    if warm:
        runner.warm()
    if os.environ.get("HOTLAP_RECORD"):
        _record(runner)
    return runner


def _record(runner: Runner) -> None:
    """What is asked of this runner from now on is recorded; otherwise nothing of it is even loaded."""
    from hotlap.runtime.recording import Recorder

    recorder = Recorder.from_environment()
    if recorder is None:
        return
    close = runner.close

    def close_both() -> None:
        close()
        recorder.close()

    # On this object alone: the class stays as it is, and so does what a call of another runner costs.
    runner.run = recorder.wrap(runner.run)  # type: ignore[method-assign]
    runner.borrow = recorder.wrap(runner.borrow)  # type: ignore[method-assign]
    runner.arun = recorder.wrap(runner.arun)  # type: ignore[method-assign]
    runner.close = close_both  # type: ignore[method-assign]


def _one_of(word: Any, words: tuple[Any, ...]) -> Any:
    if word not in words:
        raise UsageError(f"on_fork: {word!r} is none of {', '.join(words)}{nearest(str(word), words)}")
    return word


def find_plan(
    source: str | os.PathLike[str] | Plan, folder: str | os.PathLike[str] | None
) -> tuple[Plan, Path, Path]:
    """What `open` opens: the plan, the model file, and the folder that the plan's paths are relative to.

    Raises:
        ModelError, PlanError: as `open` raises them; nothing is loaded yet.
    """
    if isinstance(source, Plan):
        return _with_model(source, Path(folder or "."), "the plan")
    path = Path(source)
    if path.is_dir() and (path / PLAN_NAME).is_file():
        path = path / PLAN_NAME
    elif path.is_dir() and path.suffix == ".lap":
        raise PlanError(f"{path}: the folder holds no {PLAN_NAME}")
    if path.suffix.lower() == ".toml":
        return _with_model(Plan.load(path), path.parent, str(path))
    check_model_file(path)
    return Plan(), path, path.parent


def _with_model(plan: Plan, home: Path, where: str) -> tuple[Plan, Path, Path]:
    if plan.model is None:
        raise PlanError(f"{where}: it names no model, so there is nothing to open; add a [model] table")
    model = home / plan.model.path
    try:
        check_model_file(model)
    except ModelError as error:
        raise ModelError(f"{error}; {where} names it as its model") from error
    return plan, model, home


def _overridden(
    plan: Plan,
    providers: str | Sequence[str] | None,
    threads: int | None,
    spin: str | None,
    provider: Mapping[str, Mapping[str, Any]] | None,
    session: Mapping[str, Any] | None,
) -> Plan:
    """The plan with the arguments laid over it; validated anew."""
    changes: dict[str, Any] = {}
    if providers is not None:
        changes["providers"] = (providers,) if isinstance(providers, str) else tuple(providers)
    if threads is not None:
        changes["threads"] = threads
    if spin is not None:
        changes["spin"] = spin
    if provider is not None:
        # "CUDAExecutionProvider" and "cuda" are one.
        given = {provider_named(name).name: options for name, options in provider.items()}
        changes["provider"] = {
            **plan.provider,
            **{n: {**plan.provider.get(n, {}), **o} for n, o in given.items()},
        }
    if session is not None:
        changes["session"] = {**plan.session, **session}
    return msgspec.structs.replace(plan, **changes) if changes else plan
