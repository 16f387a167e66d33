"""Inputs to prove a change with, where the user gives none: they fit the result and run in its source."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hotlap.bench import load_feeds, save_feeds
from hotlap.errors import InputError
from hotlap.model.graph import load_graph, signature
from hotlap.model.ids import id_limits
from hotlap.passes.draft import Draft, free_name
from hotlap.passes.tools import run_tool
from hotlap.runtime import default_session, find_feed
from hotlap.tensors import TensorSpec

__all__ = ["ROWS", "limits_of", "made_feed", "made_feeds", "single_rows", "tool"]

Feed = dict[str, Any]
COUNT = 8
ROWS = (1, 2, 3)
"""Rows of the made inputs, in turn, where the first axis is free."""
_ROWS = "rows of no name"


def made_feeds(draft: Draft, model: Path, rows: Sequence[int] = ROWS, *, strict: bool = False) -> list[Feed]:
    """Feeds by the source's names.

    Args:
        draft: what they must fit.
        model: the file in which they must run: the source.
        rows: sizes of the first axis, in turn.
        strict: a feed of so many rows that does not run is an error; else one of one row takes its place.

    Raises:
        TargetFailed: the model crashed, or no feed that could be made runs.
    """
    options = {
        "model": str(model.absolute()),
        "names": dict(draft.inputs),
        "rows": list(rows),
        "strict": strict,
        "folder": free_name("feeds", draft.files),
    }
    result, scratch = run_tool("feeds", draft, options)
    made = result.parent / str(options["folder"])
    feeds = load_feeds(made) if made.is_dir() else [{}]  # a model without inputs
    del scratch
    return feeds


def single_rows(feed: Feed, names: Collection[str]) -> list[Feed]:
    """The feed row by row; the inputs `names` hold rows on their first axis, the others stay as they are."""
    count = min((len(feed[name]) for name in names if name in feed), default=1)
    return [{n: a[row : row + 1] if n in names else a for n, a in feed.items()} for row in range(count)]


def tool(
    source: Path, result: Path, model: str, names: dict[str, str], rows: list[int], strict: bool, folder: str
) -> None:
    """Runs in the tool's process: `source` is the draft, `model` what the feeds must run in."""
    proto = load_graph(source)
    specs = [_named(spec, names) for spec in signature(proto)[0]]
    limits = {names.get(n, n): limit for n, limit in limits_of(proto).items()}
    session = default_session(model)
    have = {spec.name for spec in specs}  # inputs that a pass dropped are asked of the source all the same
    specs += [spec for spec in session.inputs if spec.name not in have]
    if not specs:
        return
    feeds = [made_feed(session.run, specs, limits, rows[n % len(rows)], n, strict) for n in range(COUNT)]
    save_feeds(result.parent / folder, feeds)


def limits_of(proto: Any) -> dict[str, int]:
    """Integer input to how many ids there are, where the graph shows it."""
    integers = (s.name for s in signature(proto)[0] if s.dtype is not None and s.dtype.is_integer)
    return id_limits(proto, frozenset(integers))


def _named(spec: TensorSpec, names: Mapping[str, str]) -> TensorSpec:
    return replace(spec, name=names.get(spec.name, spec.name))


def made_feed(
    run: Any, specs: list[TensorSpec], limits: dict[str, int], rows: int, seed: int, strict: bool
) -> Feed:
    """One feed that runs, with so many rows where first axes are free.

    Raises:
        InputError: none runs; or (`strict`) none of so many rows.
    """
    # Many exporters leave the rows' axis without a name. Where such axes are no rows, named ones may be.
    nameless = [replace(s, shape=(_ROWS, *s.shape[1:])) if s.shape[:1] == (None,) else s for s in specs]
    # A model that takes one row alone is proved with one row; that it says otherwise is a finding of its own.
    attempts = [(nameless, rows), *([(specs, rows)] if nameless != specs else [])]
    attempts += [] if strict else [(specs, 1)]
    for number, (asked, count) in enumerate(attempts, 1):
        sizes = {s.shape[0]: count for s in asked if s.shape and isinstance(s.shape[0], str)}
        try:
            return find_feed(run, asked, sizes=sizes, limits=limits, seed=seed)
        except InputError:
            if number == len(attempts) or rows == 1:
                raise
    raise AssertionError("there is an attempt")
