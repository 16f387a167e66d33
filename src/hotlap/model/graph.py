"""The one door to the onnx package: loading a graph without its external weights, and walking it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from hotlap.errors import MissingExtra, ModelError
from hotlap.runtime.modelfile import check_model_file
from hotlap.tensors import DTYPES, TensorSpec

__all__ = ["holds_half", "load_graph", "nodes", "onnx", "signature", "tensors"]

_ORT_NAMES = {d.onnx: d.ort.removeprefix("tensor(").removesuffix(")") for d in DTYPES}


@cache
def onnx() -> Any:
    """The module ``onnx``.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        return importlib.import_module("onnx")
    except ImportError as error:
        raise MissingExtra("tools", "reading a model's graph") from error


def load_graph(path: Path) -> Any:
    """The file as an ``onnx.ModelProto``; external weights stay on disk.

    Text in it that is no UTF-8, which ONNX Runtime does not mind, gets each strange byte spelt as ``\\xff``.

    Raises:
        ModelError: missing, broken, not ONNX, or in ORT's own format.
        MissingExtra: onnx is not installed.
    """
    check_model_file(path)
    with path.open("rb") as file:
        if file.read(8)[4:] == b"ORTM":
            raise ModelError(
                f"{path}: in ONNX Runtime's own format, whose graph cannot be read; use the .onnx"
            )
    try:
        model = onnx().load(str(path), load_external_data=False)
    except MissingExtra:
        raise
    except Exception as error:  # protobuf's DecodeError, whose class depends on protobuf's implementation
        big = path.stat().st_size >= 2**31
        why = (
            "2 GB and more must keep its weights in files beside it" if big else "its protobuf does not parse"
        )
        raise ModelError(f"{path}: not readable as an ONNX file: {why}") from error
    _spell_out(model)
    return model


def _spell_out(message: Any) -> None:
    """Protobuf gives text that is no UTF-8 as bytes, and everybody who compares names expects text."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for inner in value if field.is_repeated else (value,):
                _spell_out(inner)
        elif field.type == field.TYPE_STRING:
            for number, text in enumerate(value if field.is_repeated else (value,)):
                if isinstance(text, bytes):
                    spelt = text.decode("utf-8", "backslashreplace")
                    if field.is_repeated:
                        value[number] = spelt
                    else:
                        setattr(message, field.name, spelt)


def nodes(model: Any) -> Iterator[Any]:
    """Every node: of the graph, of the branches and bodies inside it, and of the model's functions."""
    yield from _nodes_of(model.graph.node)
    for function in model.functions:
        yield from _nodes_of(function.node)


def _nodes_of(some: Any) -> Iterator[Any]:
    for node in some:
        yield node
        for attribute in node.attribute:
            for graph in (*((attribute.g,) if attribute.HasField("g") else ()), *attribute.graphs):
                yield from _nodes_of(graph.node)


def tensors(model: Any) -> Iterator[Any]:
    """Every tensor that the file holds or points to: weights, sparse weights, values of attributes."""
    yield from _weights(model.graph)
    for node in nodes(model):
        for attribute in node.attribute:
            yield from ((attribute.t,) if attribute.HasField("t") else ())
            yield from attribute.tensors
            for sparse in (
                *((attribute.sparse_tensor,) if attribute.HasField("sparse_tensor") else ()),
                *attribute.sparse_tensors,
            ):
                yield from (sparse.values, sparse.indices)
            for graph in (*((attribute.g,) if attribute.HasField("g") else ()), *attribute.graphs):
                yield from _weights(graph)


def holds_half(model: Any) -> bool:
    """Whether any of its weights or constants is in half precision, or any node casts to it."""
    if any(tensor.data_type in _HALF for tensor in tensors(model)):
        return True
    casts = (n for n in nodes(model) if n.op_type == "Cast")
    return any(a.name == "to" and a.i in _HALF for n in casts for a in n.attribute)


_HALF = frozenset({10, 16})  # FLOAT16 and BFLOAT16 in onnx.TensorProto.DataType


def _weights(graph: Any) -> Iterator[Any]:
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)


def signature(model: Any) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
    """The inputs that a caller must give, and the outputs."""
    # Old files list their weights among the inputs as well.
    weights = {t.name for t in model.graph.initializer} | {
        s.values.name for s in model.graph.sparse_initializer
    }
    inputs = tuple(_spec(v) for v in model.graph.input if v.name not in weights)
    return inputs, tuple(_spec(v) for v in model.graph.output)


def _spec(value: Any) -> TensorSpec:
    kind = value.type
    if not kind.HasField("tensor_type"):
        return TensorSpec(value.name, _type_name(kind))
    tensor = kind.tensor_type
    shape = [_dim(d) for d in tensor.shape.dim] if tensor.HasField("shape") else None
    return TensorSpec.declared(value.name, _type_name(kind), shape)


def _dim(dim: Any) -> int | str | None:
    # An axis with neither size nor name is one of which nothing is known.
    which = dim.WhichOneof("value")
    return getattr(dim, which) if which else None


def _type_name(kind: Any) -> str:
    """A type as ORT spells it: ``tensor(float)``, ``seq(map(int64,tensor(float)))``."""
    which = kind.WhichOneof("value")
    if which == "tensor_type":
        return f"tensor({_element(kind.tensor_type.elem_type)})"
    if which == "sparse_tensor_type":
        return f"sparse_tensor({_element(kind.sparse_tensor_type.elem_type)})"
    if which == "sequence_type":
        return f"seq({_type_name(kind.sequence_type.elem_type)})"
    if which == "optional_type":
        return f"optional({_type_name(kind.optional_type.elem_type)})"
    if which == "map_type":
        key, value = _element(kind.map_type.key_type), _type_name(kind.map_type.value_type)
        return f"map({key},{value})"
    return "unknown"


def _element(number: int) -> str:
    return _ORT_NAMES.get(number, "unknown")
