"""Faults planted into copies of a model, one node at a time; each is one that the node's own answer shows."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

from hotlap.model.tap import way_out
from hotlap.model.walk import Node, Scope, Walk

__all__ = ["places", "planted_at", "shows"]

SWAPS = {
    "Add": "Sub",
    "Mul": "Div",
    "Sub": "Add",
    "Div": "Mul",
    "Sigmoid": "Tanh",
    "Tanh": "Sigmoid",
    "Relu": "Neg",
}

Place = tuple[str, int, str]
"""The path of a scope, the index of a node in it, and the fault: "weight", "operator" or "constant"."""


def places(path: Path, seed: int) -> Iterator[Place]:
    """Where a fault can be planted, and of which kind, in a random order."""
    walk = Walk(onnx.load(path))
    found = [
        (scope.path, node.index, kind)
        for scope in walk.scopes
        if way_out(scope) is not None
        for node in scope.nodes
        for kind in _kinds(scope, node)
    ]
    random.Random(seed).shuffle(found)
    return iter(found)


def _kinds(scope: Scope, node: Node) -> Iterator[str]:
    if any(_is_large(scope.weights.get(v)) and scope.readers[v] == [node] for v in node.inputs):
        yield "weight"
    if node.op in SWAPS:
        yield "operator"
    if node.op == "Constant" and _is_large(node.attribute("value")):
        yield "constant"


def _is_large(tensor: onnx.TensorProto | None) -> bool:
    return tensor is not None and tensor.data_type == onnx.TensorProto.FLOAT


def planted_at(path: Path, place: Place, copy: Path) -> tuple[Path, str]:
    """The copy with a fault, and the label of the node that has it, as it is in the original."""
    model = onnx.load(path)
    scope_path, index, kind = place
    scope = next(s for s in Walk(model).scopes if s.path == scope_path)
    node = scope.nodes[index]
    label = node.label
    if kind == "operator":
        node.proto.op_type = SWAPS[node.op]
    elif kind == "constant":
        _changed(node.attribute("value"))
    else:
        _changed(next(scope.weights[v] for v in node.inputs if _is_large(scope.weights.get(v))))
    onnx.save(model, copy)
    return copy, label


def _changed(tensor: onnx.TensorProto) -> None:
    values = numpy_helper.to_array(tensor) * np.float32(1.25) + np.float32(0.01)
    tensor.CopyFrom(numpy_helper.from_array(values.astype(np.float32), tensor.name))


def shows(path: Path, copy: Path, feeds: Sequence[dict[str, Any]]) -> bool:
    """Whether any answer of the copy is another, by as much as a millionth of its largest."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    one, two = (onnxruntime.InferenceSession(str(file), options) for file in (path, copy))
    for feed in feeds:
        for a, b in zip(one.run(None, feed), two.run(None, feed), strict=True):
            if a.dtype.kind == "f" and not np.allclose(a, b, rtol=0, atol=1e-6 * float(np.abs(a).max())):
                return True
    return False
