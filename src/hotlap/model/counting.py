"""Multiply-adds and bytes of a whole graph at fixed sizes; branches, loops and bodies with it.

What hangs on weights and sizes alone is left out: ORT computes it once, while it loads the model. A weight
that is stored in few bits and dequantised counts as stored, since kernels read it so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hotlap.model.macs import Uncountable, macs
from hotlap.model.shaped import constant, shape_of, taken_branch

__all__ = ["Count", "count"]

_VIEWS = frozenset(
    {"Constant", "Dropout", "Flatten", "Identity", "Reshape", "Shape", "Size", "Squeeze", "Unsqueeze"}
)
"""Operators that hand on what they read, or read no elements."""
_PARTS = frozenset({"Gather", "GatherElements", "GatherND", "Slice"})
"""Operators that read of their first input what they write, and no more."""


@dataclass(slots=True)
class Count:
    """A sum over nodes.

    Attributes:
        macs: multiply-adds; None where those of a node are unknown.
        nbytes: read and written; None where a shape or type is unknown.
        why_macs, why_bytes: why that is unknown, the first reason; "" where it is known.
    """

    macs: int | None = 0
    nbytes: int | None = 0
    why_macs: str = ""
    why_bytes: str = ""

    def add(self, other: Count, times: int = 1) -> None:
        if self.macs is not None:
            self.macs = None if other.macs is None else self.macs + times * other.macs
            self.why_macs = other.why_macs
        if self.nbytes is not None:
            self.nbytes = None if other.nbytes is None else self.nbytes + times * other.nbytes
            self.why_bytes = other.why_bytes


def count(graph: Any, outer: frozenset[Any] = frozenset()) -> Count:
    """Sums up an ``onnx_ir.Graph`` whose values have shapes and types (`hotlap.model.shaped.shaped`).

    Args:
        graph: the graph.
        outer: values of the graphs around it that no call changes.
    """
    total = Count()
    fixed = {*outer, *(v for v in graph.initializers.values() if not v.is_graph_input())}
    for node in graph:
        if _is_fixed(node, fixed):
            fixed.update(node.outputs)
        elif node.op_type in _CONTROLS and _is_onnx(node):
            total.add(_CONTROLS[node.op_type](node, frozenset(fixed)))
        else:
            total.add(_node(node))
    return total


def _is_onnx(node: Any) -> bool:
    return node.domain in ("", "ai.onnx")


def _is_fixed(node: Any, fixed: set[Any]) -> bool:
    """Whether all that it makes is known without a call."""
    if node.op_type == "Constant" or all(constant(o) is not None for o in node.outputs):
        return True
    read = [i for i in node.inputs if i is not None]
    return bool(read) and node.op_type not in _CONTROLS and all(i in fixed for i in read)


def _node(node: Any) -> Count:
    if node.op_type == "Reshape" and not _fits(node):
        return _unknown(node, "what it reads does not fit into what it makes")
    found = Count(nbytes=_bytes(node))
    if found.nbytes is None:
        found.why_bytes = f"{_label(node)}: a shape or type that it reads or writes is unknown"
    try:
        found.macs = macs(node)
    except (Uncountable, IndexError, KeyError, TypeError, ValueError) as error:
        # A broken node may have any shape, and lack what it must have.
        found.macs = None
        found.why_macs = f"{_label(node)}: {error if isinstance(error, Uncountable) else 'it is not whole'}"
    return found


def _fits(node: Any) -> bool:
    """False where the sizes that were chosen do not divide as the model wants; inferring shapes rounds."""
    before, after = shape_of(node.inputs[0]), shape_of(node.outputs[0])
    return before is None or after is None or math.prod(before) == math.prod(after)


def _bytes(node: Any) -> int | None:
    if node.op_type in _VIEWS and _is_onnx(node):
        return 0
    written = [_size(o) for o in node.outputs if o.name]
    read = [_size(_as_stored(i)) for i in node.inputs if i is not None]
    if node.op_type in _PARTS and _is_onnx(node) and read and written:
        read[0] = written[0]
    sizes = [*written, *read]
    return None if any(s is None for s in sizes) else sum(s for s in sizes if s is not None)


def _as_stored(value: Any) -> Any:
    """The weight itself where the value is a weight dequantised."""
    maker = value.producer()
    if maker is not None and maker.op_type == "DequantizeLinear" and maker.inputs[0].is_initializer():
        return maker.inputs[0]
    return value


def _size(value: Any) -> int | None:
    shape = shape_of(value)
    if shape is None or value.dtype is None or value.dtype.name in ("STRING", "UNDEFINED"):
        return None
    return (math.prod(shape) * int(value.dtype.bitwidth) + 7) // 8


def _label(node: Any) -> str:
    name = node.name or next((f"→ {o.name}" for o in node.outputs if o.name), "")
    return f'{node.op_type} "{name}"'


def _unknown(node: Any, why: str) -> Count:
    text = f"{_label(node)}: {why}"
    return Count(None, None, text, text)


def _branches(node: Any, fixed: frozenset[Any]) -> Count:
    taken = taken_branch(node)
    if taken is not None:
        return count(taken, fixed)
    one, other = (count(node.attributes[b].as_graph(), fixed) for b in ("then_branch", "else_branch"))
    found = _unknown(node, "which branch it takes hangs on its inputs")
    if one.macs is not None and one.macs == other.macs:
        found.macs, found.why_macs = one.macs, ""
    if one.nbytes is not None and one.nbytes == other.nbytes:
        found.nbytes, found.why_bytes = one.nbytes, ""
    return found


def _loop(node: Any, fixed: frozenset[Any]) -> Count:
    body = node.attributes["body"].as_graph()
    inside = count(body, fixed)
    times = constant(node.inputs[0])
    condition = constant(node.inputs[1])
    started = node.inputs[1] is None or (condition is not None and condition.size == 1 and condition.item())
    if times is not None and times.size == 1 and started and _goes_on(body):
        total = Count()
        total.add(inside, max(int(times.item()), 0))
        return total
    found = _unknown(node, "how often it repeats hangs on its inputs")
    if inside.macs == 0:
        found.macs, found.why_macs = 0, ""
    return found


def _goes_on(body: Any) -> bool:
    """Whether the body's condition is always the one that it was given, or true."""
    condition = body.outputs[0]
    while (maker := condition.producer()) is not None and maker.op_type == "Identity":
        condition = maker.inputs[0]
    numbers = constant(condition)
    return condition is body.inputs[1] or (numbers is not None and bool(numbers.all()))


def _scan(node: Any, fixed: frozenset[Any]) -> Count:
    inside = count(node.attributes["body"].as_graph(), fixed)
    scanned = node.attributes["num_scan_inputs"].as_int()
    axes = node.attributes["scan_input_axes"].as_ints() if "scan_input_axes" in node.attributes else [0]
    shape = shape_of(node.inputs[len(node.inputs) - scanned]) if scanned else None
    if not shape:
        return _unknown(node, "how often it repeats is unknown")
    total = Count()
    total.add(inside, shape[axes[0]])
    return total


_CONTROLS: dict[str, Callable[[Any, frozenset[Any]], Count]] = {"If": _branches, "Loop": _loop, "Scan": _scan}
