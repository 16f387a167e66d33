"""A quick look at whether a model takes several rows: those of one run against runs of one row each."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

from hotlap.errors import InputError, TargetFailed
from hotlap.model.graph import load_graph, signature
from hotlap.passes.draft import Draft
from hotlap.passes.feeding import limits_of, made_feed
from hotlap.passes.tools import run_tool
from hotlap.passes.view import Face, View
from hotlap.runtime import default_session

__all__ = ["rows_hold", "tool"]

ROWS = 3
NEAR = 1e-3
"""Share of an output's largest magnitude: rows that mix differ by far more, other kernels by far less."""


def rows_hold(draft: Draft, names: Collection[str], stacked: Mapping[str, int]) -> bool:
    """Whether it runs with several rows and gives what single rows give.

    Args:
        draft: the model.
        names: inputs, by the source's names, whose first axis holds rows.
        stacked: output to the axis that its rows are on.
    """
    own = [name for name, source in draft.inputs.items() if source in names]
    try:
        result, scratch = run_tool("rows", draft, {"names": own, "stacked": dict(stacked)})
    except TargetFailed:
        return False
    holds: bool = json.loads(result.read_text("utf-8"))
    del scratch
    return holds


def tool(source: Path, result: Path, names: list[str], stacked: dict[str, int]) -> None:
    """Runs in the tool's process."""
    result.write_text(json.dumps(_holds(source, names, stacked)), "utf-8")


def _holds(source: Path, names: list[str], stacked: dict[str, int]) -> bool:
    session = default_session(source)
    proto = load_graph(source)
    specs, limits = list(signature(proto)[0]), limits_of(proto)
    try:
        feed = made_feed(session.run, specs, limits, ROWS, 0, strict=True)
    except InputError:
        return False
    if any(len(feed[name]) != ROWS for name in names):
        return False
    many = session.run(feed)
    single = View(Face(model=str(source), single=names, stacked=stacked)).run(feed)
    return all(_near(many[name], single[name]) for name in single)


def _near(a: np.ndarray, b: np.ndarray) -> bool:
    if a.shape != b.shape:
        return False
    size = float(np.abs(b).max(initial=0)) if b.dtype.kind == "f" else 0.0
    return bool(np.allclose(a, b, rtol=0, atol=NEAR * size)) if size else bool((a == b).all())
