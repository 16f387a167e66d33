"""A copy of a model in which half precision is float32: what its values would be if none were rounded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hotlap.model.graph import nodes, onnx, tensors

__all__ = ["has_half", "node_values", "widened", "with_outputs"]

_FLOAT, _HALF = 1, 10  # TensorProto.DataType
_TYPE_ATTRIBUTES = frozenset({"to", "dtype", "output_dtype"})
"""Attributes whose number is an element type (Cast, RandomNormal, EyeLike, DequantizeLinear …)."""


def has_half(model: Any) -> bool:
    """Whether any tensor, declared type or cast of the model is float16."""
    return (
        any(t.data_type == _HALF for t in tensors(model))
        or any(kind.elem_type == _HALF for kind in _tensor_types(model))
        or any(True for _ in _type_attributes(model))
    )


def widened(path: Path) -> Any:
    """The model with its external weights loaded and every float16 in it turned into float32.

    Raises:
        Exception: whatever reading the file raises.
    """
    module = onnx()
    model = module.load(str(path))
    for tensor in tensors(model):
        if tensor.data_type == _HALF:
            name, values = tensor.name, module.numpy_helper.to_array(tensor)
            tensor.CopyFrom(module.numpy_helper.from_array(values.astype(np.float32), name))
    for kind in _tensor_types(model):
        if kind.elem_type == _HALF:
            kind.elem_type = _FLOAT
    for attribute in list(_type_attributes(model)):
        attribute.i = _FLOAT
    return model


def node_values(model: Any) -> list[str]:
    """The names of all values that the nodes of the model's own graph make."""
    return [value for node in model.graph.node for value in node.output if value]


def with_outputs(model: Any, names: Iterable[str]) -> Any:
    """A copy that gives these values out too. Their types are left to whoever loads it."""
    copy = type(model)()
    copy.CopyFrom(model)
    have = {value.name for value in copy.graph.output}
    for name in names:
        if name not in have:
            copy.graph.output.add(name=name)
    return copy


def _type_attributes(model: Any) -> Iterator[Any]:
    for node in nodes(model):
        for attribute in node.attribute:
            if attribute.name in _TYPE_ATTRIBUTES and attribute.i == _HALF:
                yield attribute


def _tensor_types(model: Any) -> Iterator[Any]:
    """Every declared type of a tensor: of graphs inside of nodes, of sequences and optional values too."""
    graphs = [model.graph]
    for node in nodes(model):
        for attribute in node.attribute:
            graphs += [attribute.g] if attribute.HasField("g") else []
            graphs += attribute.graphs
            for kind in (*((attribute.tp,) if attribute.HasField("tp") else ()), *attribute.type_protos):
                yield from _inside(kind)
    for graph in graphs:
        for value in (*graph.input, *graph.output, *graph.value_info):
            yield from _inside(value.type)
    for function in model.functions:
        for value in function.value_info:
            yield from _inside(value.type)


def _inside(kind: Any) -> Iterator[Any]:
    which = kind.WhichOneof("value")
    if which in ("tensor_type", "sparse_tensor_type"):
        yield getattr(kind, which)
    elif which in ("sequence_type", "optional_type"):
        yield from _inside(getattr(kind, which).elem_type)
    elif which == "map_type":
        yield from _inside(kind.map_type.value_type)
