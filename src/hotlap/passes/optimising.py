"""`optimize`: passes in order, the proof, the speed, and only then a file."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec

from hotlap.bench import Workload, load_feeds
from hotlap.errors import InputError, UsageError
from hotlap.model import Model
from hotlap.passes.cut import Cut
from hotlap.passes.draft import Draft
from hotlap.passes.flush_denormals import FlushDenormals
from hotlap.passes.fold import Fold
from hotlap.passes.graphs import sweep_weights
from hotlap.passes.judging import Judging, Progress
from hotlap.passes.lower_ir import FEATURES, LowerIr, needed_ir
from hotlap.passes.optimised import Optimised
from hotlap.passes.saving import SOURCE, Written, check_destination, written
from hotlap.passes.soundness import check_source
from hotlap.passes.step import Applied, Pass, apply, counted
from hotlap.passes.weights_out_of_inputs import WeightsOutOfInputs
from hotlap.tensors import TensorSpec, check_feed, nearest

__all__ = ["default_passes", "optimize"]

Feeds = str | Path | Sequence[Mapping[str, Any]] | None
WORKLOAD = Workload(processes=8, seconds=0.6)


def default_passes() -> list[Pass]:
    """What is applied where no pass is named: what suits every model and leaves its face as it is."""
    return [WeightsOutOfInputs(compulsory=True), Cut(), Fold(), FlushDenormals()]


def optimize(
    path: str | Path,
    passes: Sequence[Pass] | None = None,
    out: str | Path | None = None,
    *,
    data: Feeds = None,
    rows: bool = False,
    level: str = "exact",
    scores: Mapping[str, int] | None = None,
    measure: bool = True,
    workload: Workload | None = None,
    force: bool = False,
    on_progress: Progress | None = None,
) -> Optimised:
    """Apply passes, prove that the answers agree, measure, and write the file; or write nothing and say why.

    Args:
        path: the .onnx file; it is never changed.
        passes: in their order; None: `default_passes`, those that do not apply left out.
        out: the file to write; None: everything but writing.
        data: inputs to judge and to measure with: a .npz, a folder of them, or feeds; None: some are made.
        rows: each .npz holds many feeds along axis 0.
        level: the gate, "exact" or "close"; made inputs are always judged at "exact".
        scores: output to the axis along which the largest value is the answer.
        measure: compare the speed of source and result on this machine. A result that is slower beyond the
            noise is not written, unless a pass mends something that was asked for. Where other work made the
            latencies void, the CPU time a call decides.
        workload: how long to measure.
        force: replace `out` if it exists.
        on_progress: told what goes on.

    Raises:
        ModelError: the model is broken, or made for another runtime.
        VerificationFailed: what a pass made is not what it promises.
        UsageError: a pass does not apply, or `out` or another argument makes no sense.
        InputError: `data` does not fit the model.
        TargetFailed: the model does not run, or a pass's tool crashed.
        StorageError: no room; nothing half-written is left.
    """
    tell = on_progress or (lambda share, what: None)
    source = Model.load(path)
    if out is not None:
        check_destination(source.path, source.files(), Path(out), force=force)
    draft = Draft.load(path)
    check_source(draft)
    _check_scores(scores or {}, draft.output_names)
    given = None if data is None else _loaded(data, rows, source.inputs)
    chosen = [_given(one, given) for one in (default_passes() if passes is None else passes)]
    tell(0.05, "applying passes")
    applied = apply(draft, chosen, strict=passes is not None)
    found = Judging(
        source, draft, applied, chosen,
        given=given, level=level, scores=scores or {},
        workload=(workload or WORKLOAD) if measure else None, tell=tell,
    )  # fmt: skip
    if applied.draft is draft:
        return found.outcome("no pass changed anything")
    found = replace(found, applied=_readable_ir(_without_dead_weights(applied), draft, chosen))
    with _in_place(found, Path(out) if out is not None else None) as files:
        return found.judged(files, writes=out is not None)


def _without_dead_weights(applied: Applied) -> Applied:
    """Passes leave weights behind that nothing reads any more: a runtime would load them and warn of each."""
    proto = applied.draft.copy()
    gone = sweep_weights(proto.graph)
    if not gone:
        return applied
    told = f"{counted(gone, 'weight')} that nothing reads {'is' if gone == 1 else 'are'} gone"
    return _noted(applied, proto, told)


def _readable_ir(applied: Applied, source: Draft, passes: Sequence[Pass]) -> Applied:
    """With an IR version that has what passes brought in: in the oldest, every weight has to be an input.

    What the source used without its version having it is left as it is: runtimes read it so far.

    Raises:
        UsageError: lower-ir was asked for a version that has it not.
    """
    version, need = applied.draft.proto.ir_version, needed_ir(applied.draft)
    if need <= max(version, needed_ir(source)):
        return applied
    for one in passes:
        if isinstance(one, LowerIr) and (why := one.requires(applied.draft)):
            raise UsageError(f"{one.name}: {why}; a pass after it brought them in")
    proto = applied.draft.copy()
    proto.ir_version = need
    return _noted(applied, proto, f"IR version {version} became {need}, the first with {FEATURES[need]}")


def _noted(applied: Applied, proto: Any, told: str) -> Applied:
    """A last change, told with the last step that made one."""
    last = max(number for number, step in enumerate(applied.steps) if step.changed)
    steps = list(applied.steps)
    steps[last] = msgspec.structs.replace(steps[last], notes=(*steps[last].notes, told))
    return Applied(applied.draft.edited(proto), tuple(steps))


def _check_scores(scores: Mapping[str, int], outputs: Sequence[str]) -> None:
    """Raises UsageError: an output is named that the source does not have."""
    for name in scores:
        if name not in outputs:
            hint = nearest(name, outputs)
            raise UsageError(f'scores: no output "{name}"{hint}; there are {", ".join(outputs)}')


@contextlib.contextmanager
def _in_place(found: Judging, out: Path | None) -> Iterator[Written]:
    """The result as files: beside `out`, or where none is asked for in a temporary folder."""
    result = found.applied.draft
    told = _metadata(found.source, result, [step.name for step in found.applied.steps if step.changed])
    if out is not None:
        with written(result, out, told) as files:
            yield files
        return
    from hotlap.passes.tools import Scratch

    scratch = Scratch()
    with written(result, scratch.path / "result.onnx", told) as files:
        yield files


def _loaded(data: Feeds, rows: bool, inputs: Sequence[TensorSpec]) -> list[dict[str, Any]]:
    """Raises InputError: one does not fit the model; UsageError: there is none."""
    feeds = load_feeds(data, rows=rows) if isinstance(data, str | Path) else list(data or ())
    if not feeds:
        raise UsageError("data: there are no inputs in it")
    fitting = []
    for number, feed in enumerate(feeds, 1):
        try:
            fitting.append(check_feed(inputs, feed))
        except InputError as error:
            raise InputError([f"feed {number}: {problem}" for problem in error.problems]) from None
    return fitting


def _given(one: Pass, feeds: list[dict[str, Any]] | None) -> Pass:
    """A pass that calibrates gets the user's inputs."""
    give = getattr(one, "given", None)
    if give is None or feeds is None:
        return one
    calibrated: Pass = give(feeds)
    return calibrated


def _metadata(source: Model, draft: Draft, passes: list[str]) -> dict[str, str]:
    """What the written file says of itself."""
    own = any(node.proto.domain.startswith("com.microsoft") for node in draft.walk.nodes())
    target = "ONNX Runtime" if own else "any runtime of ONNX"
    return {
        SOURCE: source.digest,
        "hotlap.passes": json.dumps(passes),
        "hotlap.versions": json.dumps(_versions()),
        "hotlap.target": target,
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in ("hotlap", "onnx", "onnxruntime", "onnxruntime-gpu", "onnxscript"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found
