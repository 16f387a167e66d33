"""From a plan to an ORT session: options, threads, custom operators, devices of plugin providers."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hotlap.cpus import cpu_budget
from hotlap.errors import PlanError
from hotlap.plan import Plan
from hotlap.providers import Provider, provider_named
from hotlap.runtime import ort
from hotlap.runtime.chain import place
from hotlap.runtime.loading import is_plugin, offered_devices, pick_devices, quiet_options
from hotlap.tensors import nearest

__all__ = ["Loaded", "build"]

log = logging.getLogger("hotlap.runtime")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A session and what became of the plan: `placement` is provider to number of nodes; `folder` is what the
    plan's relative paths are relative to."""

    session: Any
    threads: int
    placement: dict[str, int]
    notes: tuple[str, ...]
    folder: Path


def build(model: Path, plan: Plan, folder: Path, allowed: Collection[str] = ()) -> Loaded:
    """Builds the session.

    Args:
        model: the model file; already checked to be there.
        plan: how to run it.
        folder: what relative paths in the plan are relative to.
        allowed: the shared libraries that the plan may load, as it names them.

    Raises:
        PlanError: the plan names code that is not allowed, or an option that this ORT does not know.
        ProviderUnavailable: no provider of the chain runs the model, or only with the CPU's help where the
            CPU is not part of the chain.
        ModelError: ORT does not load the model.
    """
    _refuse_code(plan, allowed)
    _refuse_overwriting(plan, model, folder)
    plan.check_version(ort.load().__version__)
    chain = tuple(dict.fromkeys(provider_named(name) for name in plan.providers))
    if not chain:
        raise PlanError('the plan names no provider; "cpu" always loads')
    threads, notes = _threads(plan)

    def create(providers: Sequence[type[Provider]]) -> Any:
        options = _options(plan, folder, threads)
        return _session(model, plan, folder, options, threads, providers)

    placed = place(create, chain, str(model))
    return Loaded(placed.session, threads, placed.placement, (*notes, *placed.notes), folder)


def _refuse_code(plan: Plan, allowed: Collection[str]) -> None:
    for library in plan.named_code():
        if library not in allowed:
            hint = nearest(library, allowed)
            raise PlanError(
                f'the plan loads code from "{library}"{hint}; if you trust it, '
                f"open with allow_custom_ops=[{library!r}]"
            )


def _refuse_overwriting(plan: Plan, model: Path, folder: Path) -> None:
    """ORT writes wherever a plan's file options point: onto the model, or by a link out of the folder."""
    home = folder.resolve()
    weights = plan.model.external if plan.model else {}
    kept = [model, folder / "plan.toml", *(model.parent / name for name in weights)]
    for key, file in plan.files(folder).items():
        if not file.resolve().is_relative_to(home):
            raise PlanError(f"{key}: {file} leads out of the plan's folder; name a file in it")
        if any(file.exists() and k.exists() and file.samefile(k) for k in kept):
            raise PlanError(f"{key}: would overwrite {file}, which the plan needs; name another file")


def _threads(plan: Plan) -> tuple[int, list[str]]:
    """Always a number of its own: ORT's default ignores the container's quota, and pins its threads to CPUs
    that the process may not be allowed to use."""
    budget = cpu_budget()
    if plan.threads is None:
        return budget.threads, []
    if plan.threads <= budget.threads:
        return plan.threads, []
    note = f"{plan.threads} threads asked for, more than this process can use: {budget.reason}"
    log.warning("%s", note)
    return plan.threads, [note]


def _options(plan: Plan, folder: Path, threads: int) -> Any:
    options = quiet_options()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    for name, value in plan.attributes(folder).items():
        _set_attribute(options, name, value)
    entries = {"session.record_ep_graph_assignment_info": "1", **plan.config_entries(folder)}
    for key, text in entries.items():
        options.add_session_config_entry(key, text)
    for library in plan.custom_ops:
        try:
            options.register_custom_ops_library(str(folder / library))
        except ort.raised() as error:
            raise PlanError(f'custom_ops: "{library}" does not load: {ort.clear_line(str(error))}') from error
    return options


def _set_attribute(options: Any, name: str, value: Any) -> None:
    """ORT's attributes are checked by ORT; some are enums, which a plan spells as ORT does."""
    kind = type(getattr(options, name, None))
    members = getattr(kind, "__members__", None)
    try:
        setattr(options, name, members[value] if members and isinstance(value, str) else value)
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise PlanError(f"session.{name}: this onnxruntime does not take {value!r}: {error}") from error


def _session(
    model: Path, plan: Plan, folder: Path, options: Any, threads: int, providers: Sequence[type[Provider]]
) -> Any:
    texts = {p: plan.provider_options(p.name).options(threads, plan.spin, folder) for p in providers}
    if not any(is_plugin(p) for p in providers):
        return _inference_session(model, options, [(p.ort_name, texts[p]) for p in providers])
    for provider, given in texts.items():
        if is_plugin(provider):
            # For a plugin the device is chosen by its object, not by an option.
            kind = given.pop("device_type", "CPU")
            devices = pick_devices(offered_devices(provider.ort_name), kind)
            if not devices:
                raise RuntimeError(f"it offers no device of the kind {kind}")
            options.add_provider_for_devices(devices, given)
        else:
            options.add_provider(provider.ort_name, given)
    return _inference_session(model, options, None)


def _inference_session(model: Path, options: Any, providers: Any) -> Any:
    # enable_fallback: ORT otherwise prints an error and retries on the CPU; here at load, and in run() unless
    # disable_fallback() is called.
    session = ort.load().InferenceSession(str(model), options, providers=providers, enable_fallback=0)
    session.disable_fallback()
    return session
