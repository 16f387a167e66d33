"""A model without its weights' bytes, for what needs shapes alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hotlap.model.graph import onnx
from hotlap.model.sizes import elements

__all__ = ["bound", "light", "open_axes"]

SMALL = 1024
"""Elements. Tensors up to here keep their numbers: shapes are computed from such."""


def light(model: Any) -> Any:
    """A copy of a ``ModelProto`` for telling shapes.

    Large and external tensors keep their type and shape and lose their bytes, so no other file is read. What
    the file says of the shapes of inner values and outputs is left out too: it may be wrong.
    """
    copy = onnx().ModelProto(ir_version=model.ir_version)
    copy.opset_import.extend(model.opset_import)
    copy.functions.extend(model.functions)
    _copy_graph(model.graph, copy.graph)
    for function in copy.functions:
        del function.value_info[:]
        _lighten_nodes(function.node)
    return copy


def _copy_graph(graph: Any, copy: Any) -> None:
    copy.name = graph.name
    copy.input.extend(graph.input)
    copy.output.extend(graph.output)
    for tensor in graph.initializer:
        _copy_tensor(tensor, copy.initializer.add())
    copy.sparse_initializer.extend(graph.sparse_initializer)
    copy.node.extend(graph.node)
    _lighten_nodes(copy.node)
    for value in copy.output:
        _forget_shape(value.type)


def _copy_tensor(tensor: Any, copy: Any) -> None:
    if tensor.data_location or elements(tensor) > SMALL:
        copy.name, copy.data_type = tensor.name, tensor.data_type
        copy.dims.extend(tensor.dims)
    else:
        copy.CopyFrom(tensor)


def _lighten_nodes(nodes: Any) -> None:
    proto = onnx()
    for node in nodes:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                tensor = proto.TensorProto()
                _copy_tensor(attribute.t, tensor)
                attribute.t.CopyFrom(tensor)
            for graph in (*((attribute.g,) if attribute.HasField("g") else ()), *attribute.graphs):
                inner = proto.GraphProto()
                _copy_graph(graph, inner)
                graph.CopyFrom(inner)


def _forget_shape(kind: Any) -> None:
    if kind.HasField("tensor_type"):
        kind.tensor_type.ClearField("shape")


def open_axes(model: Any) -> dict[str, list[tuple[str, int]]]:
    """Parameter to the (input, axis) pairs that have its size.

    An axis with a symbol goes by that. Those without stand for one parameter where they have the same place
    in their inputs, which goes by the first of them: ``x[0]``.
    """
    weights = {t.name for t in model.graph.initializer}
    found: dict[str, list[tuple[str, int]]] = {}
    nameless: dict[int, str] = {}
    for value in model.graph.input:
        if value.name in weights or not value.type.HasField("tensor_type"):
            continue
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            which = dim.WhichOneof("value")
            name = dim.dim_param if which == "dim_param" and dim.dim_param.strip("? ") else ""
            if which == "dim_value" and dim.dim_value >= 0:
                continue
            name = name or nameless.setdefault(axis, f"{value.name}[{axis}]")
            found.setdefault(name, []).append((value.name, axis))
    return found


def bound(model: Any, axes: Mapping[str, list[tuple[str, int]]], sizes: Mapping[str, int]) -> Any:
    """A copy whose open axes have these sizes."""
    copy = onnx().ModelProto()
    copy.CopyFrom(model)
    values = {v.name: v for v in copy.graph.input}
    for name, size in sizes.items():
        for value, axis in axes[name]:
            values[value].type.tensor_type.shape.dim[axis].dim_value = size
    return copy
