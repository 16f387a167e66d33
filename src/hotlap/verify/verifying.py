"""`verify`: one candidate against one reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hotlap.bench import Target
from hotlap.errors import MissingExtra, ModelError
from hotlap.model import Model
from hotlap.verify.levels import check_metric, level_named
from hotlap.verify.metric import Metric
from hotlap.verify.reference import Reference
from hotlap.verify.source import FeedSource
from hotlap.verify.verdict import Verdict

__all__ = ["likeness", "verify"]

Feed = dict[str, Any]


def verify(
    reference: Target,
    candidate: Target,
    data: Sequence[Feed] | FeedSource | None = None,
    level: str = "exact",
    *,
    generated: bool | None = None,
    scores: Mapping[str, int] | None = None,
    boxes: Mapping[str, str] | None = None,
    metric: Metric | None = None,
    max_drop: float | None = None,
    labels: Sequence[Any] | None = None,
    timeout: float = 120.0,
) -> Verdict:
    """Whether a candidate's answers agree with a reference's; `Reference` judges many against one.

    The arguments and what is raised are those of `Reference` and `Reference.judge`.
    """
    check_metric(
        level_named(level),
        metric=metric is not None,
        max_drop=max_drop is not None,
        labels=labels is not None,
    )
    with Reference(
        reference,
        data,
        generated=generated,
        scores=scores,
        boxes=boxes,
        metric=metric,
        max_drop=max_drop,
        labels=labels,
        **likeness(reference, candidate),
        timeout=timeout,
    ) as known:
        return known.judge(candidate, level)


def likeness(reference: Target, candidate: Target) -> dict[str, Any]:
    """What `Reference` must be told of a candidate where the reference is a callable: it has no signature,
    and may give its outputs without names."""
    if reference.kind != "callable" or candidate.kind == "callable":
        return {}
    try:
        names = [spec.name for spec in Model.load(candidate.model).outputs]
    except (MissingExtra, ModelError):  # ORT's own format runs, but its graph cannot be read
        names = []
    return {"maker": candidate, "names": names}
