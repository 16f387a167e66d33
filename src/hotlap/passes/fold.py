"""Fold constants and simplify, by onnxscript's optimizer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from hotlap.errors import MissingExtra, UsageError
from hotlap.passes import face, shapes
from hotlap.passes.draft import Draft
from hotlap.passes.graphs import all_graphs, holds_sparse
from hotlap.passes.merging import merge_equal
from hotlap.passes.step import Aim, Passed, became, counted, unchanged
from hotlap.passes.tools import rewritten

__all__ = ["Fold"]

MOST_READ, MOST_MADE = 16 << 10, 128 << 10
"""Elements: nothing is computed from larger constants, and no larger one is made. Weights that are unpacked
while the file loads (8 bits to floats, one value to a whole tensor) would be written out at their full size.
"""
ROUNDS = 4


@dataclass(frozen=True)
class Fold:
    """Computes what is constant, merges equal nodes and weights, removes what does nothing.

    Answers stay bit for bit the same on most models. Inputs and outputs keep names, types and axes. A weight
    that is an input too is no constant: a caller may give another.
    """

    name: ClassVar[str] = "fold"
    aim: ClassVar[Aim] = "speed"

    def requires(self, draft: Draft) -> str:
        if find_spec("onnxscript") is None:
            return "it needs an extra: pip install 'hotlap[optimize]'"
        return "the optimizer loses sparse weights" if holds_sparse(draft.proto) else ""

    def __call__(self, draft: Draft) -> Passed:
        """Raises MissingExtra, TargetFailed (the tool failed), ModelError (it changed the face)."""
        bare = _without_claims(draft).copy()
        aside = shapes.set_aside(bare, shapes.outside)
        made = rewritten("fold", draft.edited(bare))
        proto = made.copy()
        shapes.put_back(proto, aside, frozenset(v.name for v in draft.proto.graph.input))
        made = replace(made.edited(proto), files={**draft.files, **made.files})
        merged = merge_equal(made, proto)
        made = face.restored(draft, made.edited(proto), self.name)
        notes = _notes(draft, made, merged)
        # The tool renumbers nodes and spells weights anew even where there was nothing to do.
        return Passed(made, notes) if notes else unchanged(draft, "nothing to fold")

    def ensures(self, before: Draft, after: Draft) -> str:
        return face.differences(before, after)


def _without_claims(draft: Draft) -> Draft:
    """Without the declared shapes of inner values and outputs, which nobody checks and many files have wrong.

    The tool believes them. It finds out by itself what follows from the inputs.
    """
    proto = draft.copy()
    for graph in all_graphs(proto.graph):
        del graph.value_info[:]
    for value in proto.graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    return draft.edited(proto)


def _notes(before: Draft, after: Draft, merged: int) -> tuple[str, ...]:
    weights = became("weight", len(before.weights), len(after.weights) + merged)
    notes = became("node", before.node_count(), after.node_count()) or weights
    return (*notes, *([f"stored once: {counted(merged, 'weight')} that had an equal"] if merged else []))


def tool(source: Path, result: Path) -> None:
    """Runs in the tool's process. Weights in files are no part of what it gets."""
    try:
        optimizer: Any = import_module("onnxscript.optimizer")
        ir: Any = import_module("onnx_ir")
    except ImportError as error:
        raise MissingExtra("optimize", "folding constants") from error
    model = ir.load(str(source))
    count = -1
    for _ in range(ROUNDS):  # what one round leaves over, the next may fold
        optimizer.optimize_ir(model, input_size_limit=MOST_READ, output_size_limit=MOST_MADE)
        before, count = count, sum(1 for _ in model.graph.all_nodes())
        if count == before:
            break
    _without_allowzero(model)
    if not model.graph.outputs:
        raise UsageError("the tool left no output")
    ir.save(model, str(result))


def _without_allowzero(model: Any) -> None:
    """The optimizer writes ``allowzero`` for sizes that hold no zero, also where Reshape does not have it."""
    if model.opset_imports.get("", 14) >= 14:
        return
    for node in model.graph.all_nodes():
        if node.op_type == "Reshape" and node.domain == "":
            node.attributes.pop("allowzero", None)
