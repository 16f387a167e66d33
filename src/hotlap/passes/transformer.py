"""Fuse attention and its neighbours, by the transformer optimiser that comes with ONNX Runtime."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hotlap.errors import ModelError, UsageError
from hotlap.model.constants import integers
from hotlap.model.graph import onnx
from hotlap.model.walk import ONNX, Node
from hotlap.passes import face, shapes
from hotlap.passes.draft import Draft
from hotlap.passes.fuse import keep_opsets
from hotlap.passes.graphs import all_graphs, fresh, holds_sparse, names
from hotlap.passes.step import Aim, Passed, became, unchanged
from hotlap.passes.tools import rewritten

__all__ = ["KINDS", "Transformer"]

KINDS = ("bert", "vit", "gpt2", "bart", "clip", "t5", "phi", "conformer", "swin", "tnlr", "unet", "vae")
"""Architectures that it knows, the commonest first."""
_FUSED = frozenset(
    {
        "Attention",
        "MultiHeadAttention",
        "GroupQueryAttention",
        "EmbedLayerNormalization",
        "SkipLayerNormalization",
    }
)
_PARTS = frozenset({"MatMul", "Gemm", "Attention", "LayerNormalization"})
_LARGEST = 1 << 30
_EPSILON = 1e-5
"""Of a LayerNormalization that names none (ONNX, Operators.md). Fusing it, the optimiser takes 1e-12."""


@dataclass(frozen=True)
class Transformer:
    """ONNX Runtime's fusions of transformers: attention, embedding, normalisation, activation.

    It knows the graphs that common exporters make of common architectures. Where nothing of a transformer is
    recognised, it says so and changes nothing. The result runs in ONNX Runtime alone.

    Args:
        kind: the architecture; None: "bert", whose patterns most encoders share.
        heads, width: of the attention; 0: found in the graph.
    """

    kind: str | None = None
    heads: int = 0
    width: int = 0
    name: ClassVar[str] = "transformer"
    aim: ClassVar[Aim] = "speed"

    def __post_init__(self) -> None:
        if self.kind is not None and self.kind not in KINDS:
            raise UsageError(f'transformer: no kind "{self.kind}"; there are {", ".join(KINDS)}')

    def requires(self, draft: Draft) -> str:
        if not any(node.op in _PARTS for node in draft.walk.nodes()):
            return "the model multiplies no matrices and normalises no layers, so it holds no transformer"
        if holds_sparse(draft.proto):
            return "the optimiser fails on sparse weights"
        size = draft.proto.ByteSize() + sum(f.stat().st_size for f in draft.files.values())
        if size > _LARGEST:
            return "the optimiser holds the whole model several times; this one is larger than 1 GiB"
        return ""

    def __call__(self, draft: Draft) -> Passed:
        """Raises TargetFailed (the optimiser failed), ModelError (it changed the face)."""
        options = {"kind": self.kind or "bert", "heads": self.heads, "width": self.width}
        bare = _as_it_looks_for(draft)
        aside = shapes.set_aside(bare)
        made = rewritten("transformer", draft.edited(bare), options)
        proto = made.copy()
        shapes.put_back(proto, aside, frozenset(v.name for v in draft.proto.graph.input))
        made = made.edited(proto)
        gained = _gained(draft, made)
        if not any(op.rpartition(".")[2] in _FUSED for op in gained):
            return unchanged(draft, "nothing of a transformer was recognised")
        made = face.restored(draft, made, self.name)
        proto = made.copy()
        proto.ir_version = draft.proto.ir_version
        keep_opsets(proto, draft.proto)
        counts = became("node", draft.node_count(), made.node_count())
        told = ", ".join(f"{count} {op}" for op, count in sorted(gained.items()))
        return Passed(made.edited(proto), (*counts, f"new: {told}"))

    def ensures(self, before: Draft, after: Draft) -> str:
        return face.differences(before, after)


def _as_it_looks_for(draft: Draft) -> Any:
    """A copy in which every LayerNormalization names its epsilon, and masks get their axes one by one."""
    proto = draft.copy()
    for graph in all_graphs(proto.graph):
        for node in graph.node:
            named = any(a.name == "epsilon" for a in node.attribute)
            if node.op_type == "LayerNormalization" and node.domain in ONNX and not named:
                node.attribute.append(onnx().helper.make_attribute("epsilon", _EPSILON))
    taken = names(proto)
    for node in reversed(draft.walk.root.nodes):
        axes = _two_axes(draft, node)
        if axes:
            _one_by_one(proto.graph, node.index, axes, taken)
    return proto


def _two_axes(draft: Draft, node: Node) -> list[int]:
    """The two new axes of an Unsqueeze, as PyTorch's newer exporter makes them of a mask; [] for others."""
    if node.op != "Unsqueeze" or len(node.inputs) < 2 or not node.inputs[1]:
        return []
    axes = sorted(integers(draft.walk.constant(node.scope, node.inputs[1])) or ())
    return axes if len(axes) == 2 and axes[0] >= 0 else []


def _one_by_one(graph: Any, place: int, axes: list[int], taken: set[str]) -> None:
    """Two nodes, each with an axis, in place of one with both."""
    node = graph.node[place]
    value, output = node.input[0], node.output[0]
    inner = fresh(f"{output}_half", taken)
    weights = [fresh(f"{output}_axis", taken) for _ in axes]
    for name, axis in zip(weights, axes, strict=True):
        graph.initializer.append(onnx().numpy_helper.from_array(np.array([axis], np.int64), name))
    node.input[1] = weights[1]
    node.input[0] = inner
    first = onnx().helper.make_node("Unsqueeze", [value, weights[0]], [inner])
    graph.node.insert(place, first)


def _gained(before: Draft, after: Draft) -> dict[str, int]:
    """ORT's own operators that are new, with how many."""
    counts: dict[str, int] = {}
    for sign, draft in ((1, after), (-1, before)):
        for node in draft.walk.nodes():
            if node.proto.domain == "com.microsoft":
                counts[node.op] = counts.get(node.op, 0) + sign
    return {op: count for op, count in counts.items() if count > 0}


def tool(source: Path, result: Path, kind: str, heads: int, width: int) -> None:
    """Runs in the tool's process."""
    optimizer: Any = import_module("onnxruntime.transformers.optimizer")
    try:
        made = optimizer.optimize_model(
            str(source), model_type=kind, num_heads=heads, hidden_size=width, opt_level=0
        )
    except Exception as error:  # its patterns take for granted what not every graph has
        said = f"{type(error).__name__}: {error}"
        raise ModelError(
            f"ONNX Runtime's optimiser failed on this graph ({said}); nothing was kept"
        ) from error
    made.save_model_to_file(str(result))
