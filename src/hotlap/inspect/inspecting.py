"""`inspect`: a model file to all that is known to be wrong with it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hotlap.errors import UsageError
from hotlap.inspect.case import Case, Ran
from hotlap.inspect.cost_apart import cost_of
from hotlap.inspect.evidence import Evidence, gather
from hotlap.inspect.finding import SEVERITIES, THEMES
from hotlap.inspect.inspection import Inspection, Judged
from hotlap.inspect.rules import RULES, find_all
from hotlap.inspect.runtimes import judged_runtime
from hotlap.model import Model
from hotlap.model.anatomy import anatomy
from hotlap.model.weights import weight_stats
from hotlap.model.widened import has_half
from hotlap.tensors import nearest

__all__ = ["inspect"]


def inspect(
    path: str | os.PathLike[str],
    *,
    probe: bool = True,
    data: str | Path | Sequence[Mapping[str, Any]] | None = None,
    target_ort: str | None = None,
    target_cpu: str | None = None,
    providers: Sequence[str] = ("cpu",),
    ignore: Sequence[str] = (),
    ranges: bool | None = None,
    cost: bool = False,
    timeout: float = 300.0,
) -> Inspection:
    """Reads a model, runs it in a process of its own, and says what is wrong with it.

    Args:
        path: the .onnx file.
        probe: load and run it; False: only the file is read, and what only a run shows is not found.
        data: inputs to run it on: a .npz file, a folder of them, or feeds; None: they are made to fit.
        target_ort: judge for this release of ONNX Runtime ("1.20"), not for the installed one.
        target_cpu: judge for this kind of processor (a key of `hotlap.inspect.CPUS`), not for this machine's.
        providers: judge for these, first choice first.
        ignore: codes ("HL405") or themes ("HL4") whose findings are left out.
        ranges: measure what each float value holds; None: where the model has half precision.
        cost: also count multiply-adds and bytes of a call, for the anatomy; it takes a second or two.
        timeout: seconds after which a process that loads or runs the model counts as hung.

    Raises:
        ModelError: the file is missing or no ONNX file.
        UsageError: an argument makes no sense, or `data` holds nothing.
        InputError: `data` is broken.
        PlanError: no provider has that name.
        MissingExtra: onnx is not installed; or, with `probe`, onnxruntime is not.
        StorageError: no room for temporary files.
    """
    check_codes(ignore)
    runtime = judged_runtime(target_ort, target_cpu, providers)
    model = Model.load(path, external="report")
    seen = Evidence(None)
    if probe:
        wants_ranges = has_half(model.proto) if ranges is None else ranges
        seen = _run(model, runtime.providers, data, wants_ranges, timeout)
    case = Case(
        anatomy=anatomy(model, cost_of(model.path) if cost else None),
        walk=model.walk,
        weights={w.name: w for w in weight_stats(model.proto, model.path.parent, model.walk)},
        external=model.external_problems,
        runtime=runtime,
        ran=seen.ran,
    )
    unknown, ignored = list(seen.unknown), tuple(ignore)
    findings = [f for f in find_all(case, unknown.append) if not (ignored and f.code.startswith(ignored))]
    return Inspection(
        anatomy=case.anatomy,
        judged=Judged(
            onnxruntime=runtime.ort, processor=(target_cpu or "").casefold(), providers=runtime.providers
        ),
        findings=tuple(sorted(findings, key=lambda f: (-SEVERITIES.index(f.severity), f.code))),
        ignored=ignored,
        unknown=tuple(unknown),
        **_what_ran(seen.ran),
    )


def check_codes(codes: Sequence[str]) -> None:
    """Raises UsageError where one is neither a rule's code nor a theme's beginning."""
    for code in codes:
        if code not in RULES and code not in THEMES:
            raise UsageError(f'ignore: no rule has the code "{code}"{nearest(code, [*RULES, *THEMES])}')


def _run(model: Model, providers: Sequence[str], data: Any, ranges: bool, timeout: float) -> Evidence:
    if model.external_problems:
        return Evidence(None, ("all that only a run shows: its external weights are not in order",))
    return gather(model, providers=providers, data=data, ranges=ranges, timeout=timeout)


def _what_ran(ran: Ran | None) -> dict[str, Any]:
    if ran is None:
        return {}
    return {
        "ran": True,
        "data": ran.data,
        "facts": ran.facts,
        "placement": {name: len(ops) for name, ops in ran.placement.items()},
    }
