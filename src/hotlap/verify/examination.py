"""The whole of a verification: judge, keep the worst input, and say where a difference comes from."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from hotlap.bench import Target
from hotlap.errors import HotlapError, MissingExtra, ModelError, UsageError
from hotlap.model.graph import holds_half, load_graph
from hotlap.plan.files import check_apart, check_writable, write_whole
from hotlap.runtime.npz import write_npz
from hotlap.verify.bisect import bisect, first_not_finite
from hotlap.verify.divergence import Walked
from hotlap.verify.levels import check_metric, level_named
from hotlap.verify.metric import Metric
from hotlap.verify.noise import unoptimised
from hotlap.verify.optimisers import Blame, blame
from hotlap.verify.reference import Reference
from hotlap.verify.source import FeedSource
from hotlap.verify.verdict import Verdict
from hotlap.verify.verifying import likeness

__all__ = ["Examination", "examine"]


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """What came out.

    Attributes:
        reference, candidate: their labels.
        verdict: of the gate.
        saved: the file that holds the worst input; None where nothing was saved.
        blame: for one model alone that disagrees with itself: the optimisers that make the difference.
        walked: where asked for: the first node at which the two part, or that gives no number.
        unexplained: why the cause could not be looked for; "" where it was, or there is none to look for.
    """

    reference: str
    candidate: str
    verdict: Verdict
    saved: str | None = None
    blame: Blame | None = None
    walked: Walked | None = None
    unexplained: str = ""


def examine(
    reference: Target,
    candidate: Target | None = None,
    data: Sequence[dict[str, Any]] | FeedSource | None = None,
    level: str = "exact",
    *,
    scores: Mapping[str, int] | None = None,
    boxes: Mapping[str, str] | None = None,
    metric: Metric | None = None,
    max_drop: float | None = None,
    labels: Sequence[Any] | None = None,
    save_worst: str | os.PathLike[str] | None = None,
    walk: bool = False,
    timeout: float = 120.0,
) -> Examination:
    """Judge a candidate; where it disagrees, keep the worst input and look for the cause.

    Args:
        reference: what is right, by definition.
        candidate: what is judged. None: the reference as ONNX Runtime optimises it, against the same without
            optimisation; a difference is then traced to the optimisers that make it.
        data, level, scores, boxes, metric, max_drop, labels: as for `Reference`.
        save_worst: the .npz file for the input to look at; only written where the verdict is no.
        walk: where the verdict is no, look for the first node at which the two part; where both sides answer
            NaN or +infinity, for the first node of the reference that does.
        timeout: seconds after which a process counts as hung, beside what the reference itself took.

    Once there is a verdict, what goes wrong in the search for its cause is `Examination.unexplained`.

    Raises:
        TargetFailed: a side crashed, hung or refused.
        UsageError, InputError: what is asked cannot be.
        StorageError: the worst input cannot be written.
    """
    check_metric(
        level_named(level),
        metric=metric is not None,
        max_drop=max_drop is not None,
        labels=labels is not None,
    )
    if save_worst is not None:
        _check_place(Path(save_worst), [t.model for t in (reference, candidate) if t is not None and t.model])
    if candidate is None and reference.kind == "callable":
        raise UsageError(
            f"{reference.label}: a callable alone has nothing to be compared with: name a second"
        )
    alone = candidate is None
    judged = candidate or reference
    right = _not_optimised(reference) if alone else reference
    likely = likeness(right, judged)
    with Reference(
        right,
        data,
        scores=scores,
        boxes=boxes,
        metric=metric,
        max_drop=max_drop,
        labels=labels,
        timeout=timeout,
        **likely,
    ) as known:
        verdict = _noted(known.judge(judged, level), judged)
        worst = None if verdict.passed or verdict.worst_input is None else known.feed(verdict.worst_input)
        if worst is not None and save_worst is not None:
            write_whole(save_worst, partial(_write, worst))
        blamed, no_blame = _sought(
            partial(blame, known, judged, level) if alone and not verdict.passed else None
        )
        walked, no_walk = _sought(
            partial(_walked, known, None if alone else judged, verdict) if walk else None
        )
        return Examination(
            reference=right.label,
            candidate=judged.label,
            verdict=verdict,
            saved=None if worst is None or save_worst is None else os.fspath(save_worst),
            blame=blamed,
            walked=walked,
            unexplained="; ".join(filter(None, (no_blame, no_walk))),
        )


def _sought(search: Callable[[], Any] | None) -> tuple[Any, str]:
    """What a search for the cause finds, and why it does not: what is judged stays judged."""
    try:
        return search and search(), ""
    except HotlapError as error:
        return None, " ".join(str(error).split())


def _not_optimised(target: Target) -> Target:
    return msgspec.structs.replace(unoptimised(target), label=f"{target.label}, not optimised")


def _check_place(path: Path, models: Sequence[str]) -> None:
    """Raises UsageError, StorageError: what is no place for an input."""
    if path.suffix != ".npz":
        raise UsageError(f'{path}: name a file that ends in ".npz" for the worst input')
    check_writable(path)
    check_apart(path, models)


def _noted(verdict: Verdict, judged: Target) -> Verdict:
    """Beside the verdict: what running it here says nothing about."""
    try:
        half = judged.kind != "callable" and holds_half(load_graph(Path(judged.model)))
    except (MissingExtra, ModelError):  # ORT's own format runs, but its graph cannot be read
        half = False
    return msgspec.structs.replace(verdict, notes=(*verdict.notes, _HALF)) if half else verdict


_HALF = (
    "the candidate holds half precision, which the CPU provider computes in float32: a run on the CPU says "
    "nothing of a GPU"
)


def _write(feed: Mapping[str, Any], file: Any) -> None:
    write_npz(file, feed)


def _walked(known: Reference, candidate: Target | None, verdict: Verdict) -> Walked | None:
    if not verdict.passed and candidate is not None:
        numbers = list(dict.fromkeys([verdict.worst_input or 0, 0]))  # the telling one, and a plain one
        found = bisect(known.target, candidate, [known.feed(n) for n in numbers])
    elif verdict.not_finite_input is not None:
        numbers = [verdict.not_finite_input]
        found = first_not_finite(known.target, [known.feed(n) for n in numbers])
    else:
        return None
    return found.numbered(numbers)
