"""Every tensor that a model's file holds or points to, with the place where it stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hotlap.model.graph import onnx
from hotlap.model.walk import Node, Scope, Walk

__all__ = ["Stored", "stored"]


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """One stored tensor.

    Attributes:
        name: unique in the model; see `hotlap.model.weights.WeightStats`.
        value: the name of the value that it is in its graph; "" for an attribute that is no value of its own.
        scope: where it stands.
        tensor: the ``TensorProto``.
    """

    name: str
    value: str
    scope: Scope
    tensor: Any


def stored(walk: Walk) -> Iterator[Stored]:
    """Initializers, also sparse ones and those of inner graphs; tensors in attributes; numbers of constants.

    Lists of numbers in other attributes (the trees of ai.onnx.ml) are no tensors, and left out.
    """
    used: set[str] = set()
    numbers: dict[str, int] = {}
    for scope in walk.scopes:
        for label, value, tensor in _of_scope(scope):
            name = _free(label, scope.path, used, numbers)
            used.add(name)
            yield Stored(name, value, scope, tensor)


def _free(label: str, path: str, used: set[str], numbers: dict[str, int]) -> str:
    """The label; with its scope, then a number, where it is taken.

    Args:
        numbers: label to the next number to try: a file may give one name to everything.
    """
    name = label if label not in used or not path else f"{path}{label}"
    number = numbers.get(label, 2)
    while name in used:
        name, number = f"{label} ({number})", number + 1
        numbers[label] = number
    return name


def _of_scope(scope: Scope) -> Iterator[tuple[str, str, Any]]:
    for tensor in getattr(scope.proto, "initializer", ()):  # a function has none
        yield tensor.name, tensor.name, tensor
    for sparse in getattr(scope.proto, "sparse_initializer", ()):
        yield from _sparse(sparse.values.name, sparse.values.name, sparse)
    for node in scope.nodes:
        yield from _of_node(node)


def _of_node(node: Node) -> Iterator[tuple[str, str, Any]]:
    constant = node.op == "Constant" and len(node.outputs) == 1
    value = node.outputs[0] if constant else ""
    for attribute in node.proto.attribute:
        if attribute.ref_attr_name:
            continue  # the caller's: nothing is stored here
        label = f"{node.label}.{attribute.name}"
        if attribute.HasField("t"):
            yield label, value, attribute.t
        for number, tensor in enumerate(attribute.tensors):
            yield f"{label}[{number}]", "", tensor
        if attribute.HasField("sparse_tensor"):
            yield from _sparse(label, value, attribute.sparse_tensor)
        for number, sparse in enumerate(attribute.sparse_tensors):
            yield from _sparse(f"{label}[{number}]", "", sparse)
        if constant and attribute.name.startswith("value_"):
            tensor = as_tensor(attribute)
            if tensor is not None:
                yield label, value, tensor


def _sparse(label: str, value: str, sparse: Any) -> Iterator[tuple[str, str, Any]]:
    yield label, value, sparse.values
    yield f"{label}.indices", "", sparse.indices


def as_tensor(attribute: Any) -> Any:
    """``value_float`` and its like of a ``Constant`` as the ``TensorProto`` that they are; else None."""
    proto = onnx().TensorProto
    fields = {"value_float": ("f", 1), "value_int": ("i", 7), "value_string": ("s", 8)}
    if attribute.name in fields:
        field, kind = fields[attribute.name]
        values, dims = [getattr(attribute, field)], []
    elif attribute.name in {f"{name}s" for name in fields}:
        kind = fields[attribute.name[:-1]][1]
        values = list(getattr(attribute, {1: "floats", 7: "ints", 8: "strings"}[kind]))
        dims = [len(values)]
    else:
        return None
    return proto(
        data_type=kind, dims=dims, **{{1: "float_data", 7: "int64_data", 8: "string_data"}[kind]: values}
    )
