"""Equal weights stored once, wherever their numbers lie."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from hotlap.model.pieces import pieces
from hotlap.passes.draft import Draft
from hotlap.passes.graphs import all_graphs, keep, names_in, rename_values

__all__ = ["merge_equal"]


def merge_equal(draft: Draft, proto: Any) -> int:
    """Let one weight of the graph stand for all that are equal to it; returns how many went.

    Args:
        draft: where weights that lie in files are read from.
        proto: the model to change.

    Raises:
        ModelError: a weight cannot be read.
    """
    graph = proto.graph
    fixed = {v.name for v in (*graph.input, *graph.output)}  # what has a name for callers keeps it
    # A name that an inner graph uses for a value of its own cannot be read from in there.
    shadowed = {name for inner in all_graphs(graph) if inner is not graph for name in names_in(inner)}
    renamed = {
        other.name: first.name
        for first, other in _pairs(draft, [t for t in graph.initializer if t.name not in fixed | shadowed])
    }
    if renamed:
        keep(graph.initializer, lambda t: t.name not in renamed)
        rename_values(graph, renamed)
        known = names_in(graph)
        keep(graph.value_info, lambda v: v.name in known)
    return len(renamed)


def _pairs(draft: Draft, weights: list[Any]) -> Iterator[tuple[Any, Any]]:
    """(the one that stays, one that is equal to it). Only those of one type and shape are read at all."""
    alike: dict[tuple[Any, ...], list[Any]] = {}
    for tensor in weights:
        alike.setdefault((tensor.data_type, *tensor.dims), []).append(tensor)
    for group in alike.values():
        first: dict[bytes, Any] = {}
        for tensor in group if len(group) > 1 else ():
            same = first.setdefault(_digest(draft, tensor), tensor)
            if same is not tensor:
                yield same, tensor


def _digest(draft: Draft, tensor: Any) -> bytes:
    found = hashlib.sha256()
    for piece in pieces(tensor, draft.files):
        found.update(piece)
    return found.digest()
