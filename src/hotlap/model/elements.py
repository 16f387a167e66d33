"""The element type of every value of a model, as far as the operators tell: `Elements`.

Declared types come first. Where the file says nothing, each operator's own definition tells which of its
inputs its output is like. Nothing of the model goes into onnx's shape inference here: that is C++, which a
broken file could crash.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

from hotlap.model.graph import onnx
from hotlap.model.walk import ONNX, Node, Scope, Walk
from hotlap.tensors import DTYPES

__all__ = ["Elements", "dtype_name", "elements"]

_BY_NUMBER = {d.onnx: d.name for d in DTYPES}
_BY_ORT = {d.ort: d.name for d in DTYPES}
_BY_ATTRIBUTE = {
    "Cast": ("to", 0),
    "EyeLike": ("dtype", 0),
    "Bernoulli": ("dtype", 0),
    "Multinomial": ("dtype", 6),
    "RandomNormal": ("dtype", 1),
    "RandomUniform": ("dtype", 1),
    "RandomNormalLike": ("dtype", 0),
    "RandomUniformLike": ("dtype", 0),
    "HannWindow": ("output_datatype", 1),
    "HammingWindow": ("output_datatype", 1),
    "BlackmanWindow": ("output_datatype", 1),
    "DequantizeLinear": ("output_dtype", 0),
    "QuantizeLinear": ("output_dtype", 0),
}
"""Operator to the attribute that names its output's type, and what stands for it where it is left out; 0:
the type of an input."""
_LIKE = {
    "CastLike": 1,
    "DequantizeLinear": 1,
    "QuantizeLinear": 2,
    "com.microsoft.DequantizeLinear": 1,
    "com.microsoft.QuantizeLinear": 2,
    "com.microsoft.MatMulIntegerToFloat": 2,
    "com.microsoft.QAttention": 3,
}
"""Operator to the number of the input whose type its first output has."""
_INDICES = ("int32", "int64")
"""An operator outside of ONNX that reads these first, reads indices: its output is of another type."""


def dtype_name(onnx_type: int) -> str:
    """The name of a ``TensorProto.DataType``; "" where it is none that hotlap knows."""
    return _BY_NUMBER.get(onnx_type, "")


class Elements:
    """The element types of one model's values; names as in `hotlap.tensors.DType`, "" where unknown."""

    def __init__(self, walk: Walk) -> None:
        self._known: dict[Scope, dict[str, str]] = {}
        self._walk = walk
        for scope in walk.scopes:
            if scope.outer is None:
                self._fill(scope)

    def of(self, scope: Scope, value: str) -> str:
        """The type of a value as seen from a scope."""
        here: Scope | None = scope
        while here is not None and not here.knows(value):
            here = here.outer
        return "" if here is None else self._known.get(here, {}).get(value, "")

    def read(self, node: Node) -> tuple[str, ...]:
        """The types of the node's inputs, "" for those that are left out."""
        return tuple(self.of(node.scope, v) if v else "" for v in node.proto.input)

    def made(self, node: Node) -> tuple[str, ...]:
        """The types of the node's outputs, "" for those that are left out."""
        return tuple(self.of(node.scope, v) if v else "" for v in node.proto.output)

    def _fill(self, scope: Scope) -> None:
        known = self._known[scope] = {
            value: dtype_name(kind.tensor_type.elem_type)
            for value, kind in scope.types.items()
            if kind.HasField("tensor_type")
        }
        for name, tensor in scope.weights.items():
            known[name] = dtype_name(tensor.data_type)
        inner = iter(scope.inner)
        for node in scope.nodes:
            branches = [next(inner) for _ in node.subgraphs()]
            for branch in branches:
                self._fill(branch)
            for number, value in enumerate(node.proto.output):
                if value and not known.get(value):
                    known[value] = self._made(node, number, branches)

    def _made(self, node: Node, number: int, branches: list[Scope]) -> str:
        if branches:
            return next((t for t in self._given(node, number, branches) if t), "")
        said = self._said(node, number)
        if said:
            return said
        if node.proto.domain not in ONNX and node.proto.domain != "ai.onnx.ml":
            first = (*self.read(node), "")[0]
            return "" if first in _INDICES or (number and not first.startswith("float")) else first
        domain = "" if node.proto.domain in ONNX else node.proto.domain
        like = _like(node.proto.op_type, self._walk.opset(node.scope, domain) or 1, domain, number)
        if isinstance(like, str):
            return like
        return next((t for n in like for t in self.read(node)[n : n + 1] if t), "")

    def _given(self, node: Node, number: int, branches: list[Scope]) -> Iterator[str]:
        """What the inner graphs give as that output: a loop's body gives its condition first."""
        number += node.op == "Loop"
        for branch in branches:
            if number < len(branch.outputs):
                yield self.of(branch, branch.outputs[number])

    def _said(self, node: Node, number: int) -> str:
        """What an attribute says, or an input that no definition binds to the output."""
        op = node.op
        if op == "Constant":
            return _constant(node)
        if op == "ConstantOfShape":
            tensor = node.attribute("value")
            return "float32" if tensor is None else dtype_name(tensor.data_type)
        if number:
            return ""
        if op in _BY_ATTRIBUTE:
            attribute, default = _BY_ATTRIBUTE[op]
            said = node.attribute(attribute, default) or default
            if said:
                return dtype_name(said) if isinstance(said, int) else ""
        at = _LIKE.get(op, 0 if op in _BY_ATTRIBUTE else None)
        if at is None:
            return ""
        like = (*self.read(node), *("",) * (at + 1))[at]
        return like or ("uint8" if op.endswith("QuantizeLinear") else "")


def _constant(node: Node) -> str:
    for attribute in node.proto.attribute:
        if attribute.name == "value":
            return dtype_name(attribute.t.data_type)
        if attribute.name.startswith("value_"):
            kind = attribute.name.removeprefix("value_").rstrip("s")
            return {"float": "float32", "int": "int64", "string": "string"}.get(kind, "")
    return ""


@lru_cache(maxsize=4096)
def _like(op: str, opset: int, domain: str, number: int) -> str | tuple[int, ...]:
    """An output's type by the operator's definition: its name, or the inputs that have the same one."""
    schema = _schema(op, opset, domain)
    if schema is None or not schema.outputs:
        return ""
    word = schema.outputs[min(number, len(schema.outputs) - 1)].type_str
    only = next((c.allowed_type_strs for c in schema.type_constraints if c.type_param_str == word), [word])
    if len(only) == 1:
        return _BY_ORT.get(only[0], "")
    return tuple(n for n, one in enumerate(schema.inputs) if one.type_str == word)


def _schema(op: str, opset: int, domain: str) -> Any:
    defs = onnx().defs
    try:
        return defs.get_schema(op, max(opset, 1), domain)
    except (defs.SchemaError, TypeError, ValueError, RuntimeError):
        return None  # no such operator, or an opset that is no number of one


_KNOWN: WeakKeyDictionary[Walk, Elements] = WeakKeyDictionary()


def elements(walk: Walk) -> Elements:
    """The `Elements` of a walk, worked out once."""
    if walk not in _KNOWN:
        _KNOWN[walk] = Elements(walk)
    return _KNOWN[walk]
