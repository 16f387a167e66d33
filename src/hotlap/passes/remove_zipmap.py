"""Remove ZipMap: probabilities as a tensor in place of a list of maps, the labels kept as metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from hotlap.model.graph import onnx
from hotlap.model.walk import Node
from hotlap.passes.draft import Draft, Origin
from hotlap.passes.graphs import fresh, keep, rename_values, set_property, sweep_opsets
from hotlap.passes.step import Aim, Passed, unchanged

__all__ = ["LABELS", "RemoveZipmap", "move_labels"]

LABELS = "hotlap.labels."
"""Key of the labels in the file's metadata, before the output's name; the value is a JSON list, in the order
of the tensor's columns."""
_ZIPMAP = "ai.onnx.ml.ZipMap"


@dataclass(frozen=True)
class RemoveZipmap:
    """Gives class probabilities as float32[rows, classes] in place of a list of maps from label to number.

    scikit-learn's exporter makes such lists: slow to build, without a shape, and no server can send them. The
    output keeps its name; the labels are kept in the file's metadata, under ``hotlap.labels.<output>``.
    """

    name: ClassVar[str] = "remove-zipmap"
    aim: ClassVar[Aim] = "mend"

    def requires(self, draft: Draft) -> str:
        return ""

    def __call__(self, draft: Draft) -> Passed:
        maps = [node for node in draft.walk.root.nodes if node.op == _ZIPMAP]
        free = [node for node in maps if _only_an_output(draft, node)]
        if not free:
            why = "its maps are read inside the model" if maps else "the model has no ZipMap"
            return unchanged(draft, why)
        proto, outputs, notes = draft.copy(), dict(draft.outputs), []
        for node in free:
            output, labels = node.outputs[0], _labels(node)
            _replace(proto, node, len(labels))
            set_property(proto, f"{LABELS}{output}", json.dumps(labels))
            outputs[output] = Origin(draft.outputs[output].value, tuple(labels))
            notes.append(f'output "{output}" is a tensor with a column for each of {len(labels)} labels')
        sweep_opsets(proto)
        return Passed(draft.edited(proto, outputs=outputs), tuple(notes))

    def ensures(self, before: Draft, after: Draft) -> str:
        return "" if before.output_names == after.output_names else "an output is gone"


def move_labels(proto: Any, names: Mapping[str, str]) -> None:
    """Let the labels that a file keeps follow their outputs.

    Args:
        proto: the model to change.
        names: output that is there to the name that it has from now on; labels of all others go.
    """
    keep(proto.metadata_props, lambda e: not e.key.startswith(LABELS) or e.key[len(LABELS) :] in names)
    for entry in proto.metadata_props:
        if entry.key.startswith(LABELS):
            entry.key = f"{LABELS}{names[entry.key[len(LABELS) :]]}"


def _only_an_output(draft: Draft, node: Node) -> bool:
    output = node.outputs[0]
    return output in draft.output_names and not draft.walk.readers(node.scope, output)


def _labels(node: Node) -> list[Any]:
    integers = node.attribute("classlabels_int64s")
    texts = node.attribute("classlabels_strings")
    return list(integers) if integers else [text.decode("utf-8") for text in texts or []]


def _replace(proto: Any, node: Node, columns: int) -> None:
    graph, (tensor, output) = proto.graph, (node.inputs[0], node.outputs[0])
    keep(graph.node, lambda n: not (n.op_type == "ZipMap" and n.output[0] == output))
    value = next(v for v in graph.output if v.name == output)
    rows = _rows(graph, tensor)
    float32 = onnx().TensorProto.FLOAT
    value.CopyFrom(onnx().helper.make_tensor_value_info(output, float32, [rows, columns or None]))
    made = any(tensor in n.output for n in graph.node)
    shared = any(tensor == v.name for v in graph.output) or not made
    if shared:  # the caller gets it under its own name as well
        name = fresh(f"{output}_zipmap", {node.name for node in graph.node})
        graph.node.add(op_type="Identity", name=name, input=[tensor], output=[output])
    else:
        keep(graph.value_info, lambda v: v.name != tensor)
        rename_values(graph, {tensor: output})


def _rows(graph: Any, tensor: str) -> int | str | None:
    """The first axis, where the file says it."""
    known = (v for v in (*graph.value_info, *graph.input, *graph.output) if v.name == tensor)
    shape = next((v.type.tensor_type.shape.dim for v in known), None)
    if not shape:
        return None
    return shape[0].dim_param or (shape[0].dim_value if shape[0].dim_value > 0 else None)
