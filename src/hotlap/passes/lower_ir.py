"""Lower the version of the file format, where nothing in the file needs the newer one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from hotlap.errors import UsageError
from hotlap.model.graph import onnx, tensors
from hotlap.passes.draft import Draft
from hotlap.passes.graphs import all_graphs
from hotlap.passes.step import Aim, Passed, unchanged

__all__ = ["FEATURES", "OLD", "LowerIr", "needed_ir"]

OLD = 8
"""ONNX Runtime 1.10 and all later ones read it."""
FEATURES = {
    4: "weights that are no inputs",
    5: "sparse weights or quantisation annotations",
    8: "functions",
    9: "8-bit floats",
    10: "4-bit integers, or metadata in nodes",
    11: "4-bit floats, or a layout over several devices",
    12: "8-bit exponents",
    13: "2-bit integers",
}
"""IR version to what came with it (onnx's ``onnx.proto``, the comments at ``Version``)."""
_TYPES = {17: 9, 18: 9, 19: 9, 20: 9, 21: 10, 22: 10, 23: 11, 24: 12, 25: 13, 26: 13}
"""``TensorProto.DataType`` to the IR version that brought it."""


@dataclass(frozen=True)
class LowerIr:
    """Writes a lower IR version into the header, so that an older runtime opens the file.

    Nothing else changes. It refuses where the file uses something that came with a newer version.

    Args:
        version: the IR version; None: 8 (ONNX Runtime 1.10 reads it), or the lowest that the file allows.
    """

    version: int | None = None
    name: ClassVar[str] = "lower-ir"
    aim: ClassVar[Aim] = "mend"

    def __post_init__(self) -> None:
        if self.version is not None and self.version < 3:
            raise UsageError(f"lower-ir: IR versions start at 3, not {self.version}")

    def requires(self, draft: Draft) -> str:
        need = needed_ir(draft)
        if self.version is not None and self.version < need:
            return f"the file holds {FEATURES.get(need, 'something')}, which need IR version {need} or newer"
        return ""

    def __call__(self, draft: Draft) -> Passed:
        version = max(OLD, needed_ir(draft)) if self.version is None else self.version
        now = draft.proto.ir_version
        if now <= version:
            return unchanged(draft, f"its IR version is {now}, not above {version}")
        proto = draft.copy()
        proto.ir_version = version
        return Passed(draft.edited(proto), (f"IR version {now} became {version}",))

    def ensures(self, before: Draft, after: Draft) -> str:
        return "" if after.proto.ir_version >= needed_ir(after) else "the file needs a newer IR version"


def needed_ir(draft: Draft) -> int:
    """The lowest IR version that has all that the file uses."""
    proto = draft.proto
    need = 3
    inputs = {v.name for v in proto.graph.input}
    if any(t.name not in inputs for t in proto.graph.initializer):
        need = 4
    graphs = [*all_graphs(proto.graph), *proto.functions]
    if any(len(g.sparse_initializer) or len(g.quantization_annotation) for g in all_graphs(proto.graph)):
        need = max(need, 5)
    if len(proto.functions):
        need = max(need, 8)
    if any(len(n.metadata_props) for g in graphs for n in g.node):
        need = max(need, 10)
    return max(need, *(_TYPES.get(t, 0) for t in _types(proto)), 0)


def _types(proto: Any) -> set[int]:
    """Element types of weights, declared values and casts."""
    values = [v for g in all_graphs(proto.graph) for v in (*g.input, *g.output, *g.value_info)]
    cast = {
        a.i
        for g in all_graphs(proto.graph)
        for n in g.node
        for a in n.attribute
        if a.name in ("to", "dtype", "output_dtype") and a.type == onnx().AttributeProto.INT
    }
    return cast | {t.data_type for t in tensors(proto)} | {v.type.tensor_type.elem_type for v in values}
