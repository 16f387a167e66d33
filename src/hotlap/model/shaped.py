"""The shape and element type of every value of a model whose inputs have fixed sizes.

The package onnx-shape-inference tells most. What it cannot know, shapes that are computed by longer chains of
operators on small numbers, is computed here by ONNX's own reference implementation, in turn with it.
"""

from __future__ import annotations

import importlib
import logging
import math
from typing import Any

import numpy as np

from hotlap.errors import MissingExtra, ModelError
from hotlap.model.graph import onnx
from hotlap.model.light import SMALL

__all__ = ["constant", "shape_of", "shaped", "taken_branch"]

_ROUNDS = 8
"""Each round of computing small numbers can make more shapes known. Few models need a third."""
_COMPUTED = frozenset({
    "Abs", "Add", "And", "ArgMax", "ArgMin", "Cast", "CastLike", "Ceil", "Clip", "Compress", "Concat",
    "ConstantOfShape", "CumSum", "Div", "Equal", "Expand", "Flatten", "Floor", "Gather", "GatherElements",
    "GatherND", "Greater", "GreaterOrEqual", "Identity", "Less", "LessOrEqual", "Max", "Min", "Mod", "Mul",
    "Neg", "NonZero", "Not", "Or", "Pad", "Pow", "Range", "ReduceMax", "ReduceMin", "ReduceProd",
    "ReduceSum", "Reshape", "Round", "ScatterElements", "ScatterND", "Shape", "Sign", "Size", "Slice",
    "Split", "Sqrt", "Squeeze", "Sub", "Tile", "Transpose", "Trilu", "Unsqueeze", "Where", "Xor",
})  # fmt: skip
"""Operators that shapes are computed with."""
_ALIKE = {
    "FusedConv": "Conv",
    "FusedGemm": "Gemm",
    "DynamicQuantizeMatMul": "MatMul",
    "DynamicQuantizeLSTM": "LSTM",
}
"""Operators of com.microsoft that the package does not know, to ONNX's of the same shapes and products."""


def shaped(model: Any) -> Any:
    """The model as an ``onnx_ir.Model`` with functions inlined, and shapes and types wherever they are known.

    Args:
        model: a ``ModelProto`` without large weights, its inputs with fixed sizes; it is used up.

    Raises:
        MissingExtra: onnx-ir or onnx-shape-inference is not installed.
        ModelError: the model contradicts itself at these sizes.
    """
    ir, inference = _packages()
    logging.getLogger("onnx_shape_inference").setLevel(logging.ERROR)
    try:
        with np.errstate(all="ignore"):
            return _with_shapes(ir.from_proto(model), ir, inference)
    except Exception as error:  # the packages raise whatever they like at a broken model
        raise ModelError(f"its shapes cannot be told: {_first_line(error)}") from error


def _with_shapes(model: Any, ir: Any, inference: Any) -> Any:
    if model.functions:
        importlib.import_module("onnx_ir.passes.common").InlinePass()(model)
    for node in model.graph.all_nodes():
        if node.domain == "com.microsoft" and node.op_type in _ALIKE:
            node.domain, node.op_type = "", _ALIKE[node.op_type]
    for _ in range(_ROUNDS):
        inference.infer_symbolic_shapes(model, warn_on_missing=False, adopt_declared_symbols=False)
        if not sum(_compute(node, model, ir) for node in model.graph.all_nodes()):
            break
    return model


def _packages() -> tuple[Any, Any]:
    try:
        return importlib.import_module("onnx_ir"), importlib.import_module("onnx_shape_inference")
    except ImportError as error:
        raise MissingExtra("tools", "counting what a call costs") from error


def _first_line(error: BaseException) -> str:
    """What the first of a chain of errors says."""
    while error.__cause__ is not None:
        error = error.__cause__
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


def shape_of(value: Any) -> tuple[int, ...] | None:
    """The sizes of an ``onnx_ir.Value``; None where one is unknown."""
    if value is None or value.shape is None:
        return None
    sizes = tuple(value.shape)
    return sizes if all(isinstance(s, int) for s in sizes) else None


def constant(value: Any) -> Any:
    """The numbers of an ``onnx_ir.Value`` that is small and known, as a numpy array; else None."""
    if value is None or value.const_value is None or value.is_graph_input():
        return None
    try:
        return value.const_value.numpy() if value.const_value.size <= SMALL else None
    except Exception:  # noqa: BLE001  a tensor whose bytes do not fit its shape
        return None


def _compute(node: Any, model: Any, ir: Any) -> bool:
    """Computes a node on small known numbers; whether something became known."""
    if node.domain not in ("", "ai.onnx") or all(o.const_value is not None for o in node.outputs):
        return False
    if node.op_type == "If":
        return _take_branch(node)
    if node.op_type not in _COMPUTED or not all(_small(o) or node.op_type == "NonZero" for o in node.outputs):
        return False
    results = _from_shape(node) or _by_reference(node, model.opset_imports.get("", 1), ir)
    for output, result in zip(node.outputs, results, strict=False):
        output.const_value = ir.tensor(result, name=output.name)
        output.shape = ir.Shape(result.shape)
        output.dtype = output.const_value.dtype
    return bool(results)


def _small(value: Any) -> bool:
    shape = shape_of(value)
    return shape is not None and math.prod(shape) <= SMALL


def _from_shape(node: Any) -> list[Any]:
    if node.op_type not in ("Shape", "Size"):
        return []
    shape = shape_of(node.inputs[0])
    if shape is None:
        return []
    if node.op_type == "Size":
        return [np.array(math.prod(shape), np.int64)]
    start = node.attributes["start"].as_int() if "start" in node.attributes else 0
    end = node.attributes["end"].as_int() if "end" in node.attributes else len(shape)
    return [np.array(shape[start:end], np.int64)]


def _by_reference(node: Any, opset: int, ir: Any) -> list[Any]:
    feed = {}
    for value in node.inputs:
        if value is None:
            continue
        numbers = constant(value)
        if numbers is None:
            return []
        feed[value.name] = numbers
    proto = ir.to_proto(node)
    package = onnx()
    function = package.helper.make_function(
        "hotlap", "one", list(feed), list(proto.output), [proto], [package.helper.make_opsetid("", opset)]
    )
    evaluator = importlib.import_module("onnx.reference").ReferenceEvaluator(function)
    return list(evaluator.run(None, feed, {}))


def _take_branch(node: Any) -> bool:
    """The shapes of an ``If`` whose branch is known are that branch's."""
    branch = taken_branch(node)
    changed = False
    for output, inner in zip(node.outputs, branch.outputs if branch is not None else (), strict=False):
        if shape_of(inner) is not None and shape_of(output) is None:
            output.shape, changed = inner.shape, True
    return changed


def taken_branch(node: Any) -> Any:
    """The graph that an ``If`` runs; None where that hangs on its inputs."""
    condition = constant(node.inputs[0])
    if condition is None or condition.size != 1:
        return None
    return node.attributes["then_branch" if condition.item() else "else_branch"].as_graph()
