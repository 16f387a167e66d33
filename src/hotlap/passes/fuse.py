"""Fuse offline: what ONNX Runtime would do at each start, written into the file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from hotlap.errors import UsageError
from hotlap.passes import face
from hotlap.passes.draft import Draft, free_name
from hotlap.passes.graphs import names, part_names, sweep_opsets
from hotlap.passes.step import Aim, Passed, became, unchanged
from hotlap.passes.tools import rewritten
from hotlap.runtime import open as open_model

__all__ = ["LEVELS", "Fuse", "keep_opsets"]

LEVELS = {"basic": "ORT_ENABLE_BASIC", "extended": "ORT_ENABLE_EXTENDED"}
"""Level to ORT's own name. The ones above write layouts that fit this very CPU, and are never written."""
BESIDE = 1 << 30
"""From this many bytes of weights on, ORT writes them to a file of their own."""
LARGEST_FOLDED = 512 << 10
"""Bytes of a constant that may be computed: weights of 8 bits would be written out as floats otherwise."""
_LAYOUT = "com.microsoft.nchwc"


@dataclass(frozen=True)
class Fuse:
    """ONNX Runtime's own fusions, done once and saved.

    `basic` writes plain ONNX that every runtime reads, `extended` ONNX Runtime's own operators as well.
    Fusions that fit this CPU alone are never written: the runtime does those when it loads the file.

    Args:
        level: ``basic`` or ``extended``.
    """

    level: Literal["basic", "extended"] = "basic"
    name: ClassVar[str] = "fuse"
    aim: ClassVar[Aim] = "speed"

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise UsageError(f'fuse: no level "{self.level}"; there are {", ".join(LEVELS)}')

    def requires(self, draft: Draft) -> str:
        return ""

    def __call__(self, draft: Draft) -> Passed:
        """Raises TargetFailed (ORT does not load it, or what it wrote), ModelError (it changed the face)."""
        large = sum(f.stat().st_size for f in draft.files.values()) + draft.proto.ByteSize() > BESIDE
        weights = free_name("fused.data", draft.files) if large else ""
        made = rewritten("fuse", draft, {"level": self.level, "weights": weights})
        made = face.restored(draft, made, self.name)
        proto = made.copy()
        proto.ir_version = draft.proto.ir_version
        keep_opsets(proto, draft.proto)
        part_names(proto, names(draft.proto))
        notes = _notes(draft, made)
        return (
            Passed(made.edited(proto), notes)
            if notes
            else unchanged(draft, f"nothing to fuse at {self.level}")
        )

    def ensures(self, before: Draft, after: Draft) -> str:
        if not _operators(before)[_LAYOUT] and _operators(after)[_LAYOUT]:
            return "ONNX Runtime wrote operators that fit this CPU alone"
        return face.differences(before, after)


def keep_opsets(proto: Any, before: Any) -> None:
    """ORT imports every set that it knows; those stay that the file had, or that a node uses now."""
    sweep_opsets(proto)
    for opset in before.opset_import:
        if all(opset.domain != o.domain for o in proto.opset_import):
            proto.opset_import.add(domain=opset.domain, version=opset.version)


def _operators(draft: Draft) -> Counter[str]:
    found = Counter(n.op for n in draft.walk.nodes())
    found.update(n.proto.domain for n in draft.walk.nodes())
    return found


def _notes(before: Draft, after: Draft) -> tuple[str, ...]:
    old, new = (Counter(n.op for n in d.walk.nodes()) for d in (before, after))
    if old == new:
        return ()
    gained = [f"{count} {op}" for op, count in (new - old).most_common()]
    counts = became("node", before.node_count(), after.node_count())
    return (*counts, *([f"new: {', '.join(gained)}"] if gained else []))


def tool(source: Path, result: Path, level: str, weights: str) -> None:
    """Runs in the tool's process: ORT saves the graph that it would run."""
    session: dict[str, str | int | float | bool] = {
        "graph_optimization_level": LEVELS[level],
        "optimized_model_filepath": result.name,
        "optimization.constant_folding_max_output_size_in_bytes": LARGEST_FOLDED,
    }
    if weights:
        session["session.optimized_model_external_initializers_file_name"] = weights
    open_model(source, providers="cpu", session=session, folder=source.parent, warm=False)
