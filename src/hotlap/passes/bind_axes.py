"""Bind symbolic axes to sizes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from hotlap.errors import UsageError
from hotlap.passes.draft import Draft
from hotlap.passes.graphs import all_graphs, symbol_of
from hotlap.passes.soundness import lost_to
from hotlap.passes.step import Aim, Passed, unchanged
from hotlap.tensors import nearest

__all__ = ["BindAxes"]

LARGEST = 2**31 - 1
"""A size that any runtime takes for one axis."""
_PLACE = re.compile(r"(.+)\[(\d{1,3})\]")


@dataclass(frozen=True)
class BindAxes:
    """Gives axes of the inputs fixed sizes: by their symbol, or by input and place.

    What hangs on those sizes can then be folded (``fold``), and providers that compile need them. Every part
    of the model must fit them, also a branch that your inputs never take: ONNX Runtime looks at all of it.

    Args:
        sizes: ``{"batch": 1}`` binds a symbol wherever it stands, ``{"x[2]": 64}`` the third axis of input
            x; where that axis has a symbol, the symbol.
    """

    sizes: Mapping[str, int] = field(default_factory=dict)
    name: ClassVar[str] = "bind-axes"
    aim: ClassVar[Aim] = "mend"

    def __post_init__(self) -> None:
        if not self.sizes:
            raise UsageError("bind-axes: say which, as AXIS=SIZE")
        bad = [f"{axis}={size}" for axis, size in self.sizes.items() if not 1 <= size <= LARGEST]
        if bad:
            raise UsageError(f"bind-axes: a size is 1 to {LARGEST:,}, got {bad[0]}")

    def requires(self, draft: Draft) -> str:
        return next((why for axis, size in self.sizes.items() if (why := _refusal(draft, axis, size))), "")

    def __call__(self, draft: Draft) -> Passed:
        proto = draft.copy()
        notes = []
        for axis, size in self.sizes.items():
            dim = _place(proto.graph, draft.weights, axis)
            symbol = axis if dim is None else symbol_of(dim)
            if dim is not None and not symbol and dim.dim_value != size:
                dim.dim_value = size
                notes.append(f"{axis} is {size}")
            elif symbol and (count := _bind(proto, symbol, size)):
                notes.append(f'"{symbol}" is {size}, in {count:,} places')
        if not notes:
            return unchanged(draft, "all have these sizes already")
        return Passed(draft.edited(proto), tuple(notes))

    def ensures(self, before: Draft, after: Draft) -> str:
        for axis, size in self.sizes.items():
            dim = _place(after.proto.graph, after.weights, axis)
            if (dim is None and axis in _symbols(after)) or (dim is not None and dim.dim_value != size):
                return f"{axis} is still free"
        if why := lost_to(before, after):
            return f"a part of the model does not fit these sizes, so ONNX Runtime does not load it: {why}"
        return ""


def _refusal(draft: Draft, axis: str, size: int) -> str:
    symbols = _symbols(draft)
    if axis in symbols:
        return ""
    dim = _place(draft.proto.graph, draft.weights, axis)
    if dim is None:
        match = _PLACE.fullmatch(axis)
        if match and match[1] in draft.input_names:
            return f'input "{match[1]}" has no axis {match[2]}'
        known = [*symbols, *(f"{name}[0]" for name in draft.input_names)]
        return f'no input has an axis "{axis}"{nearest(axis, known)}; symbols: {", ".join(symbols) or "none"}'
    if dim.dim_value > 0 and dim.dim_value != size:
        return f"{axis} is fixed at {dim.dim_value}"
    return ""


def _symbols(draft: Draft) -> list[str]:
    """Symbols of the inputs' axes, in order."""
    inputs = (v for v in draft.proto.graph.input if v.name not in draft.weights)
    found = (symbol_of(d) for v in inputs for d in v.type.tensor_type.shape.dim)
    return list(dict.fromkeys(s for s in found if s))


def _place(graph: Any, weights: frozenset[str], axis: str) -> Any:
    """The axis that ``input[n]`` means; None where there is none."""
    match = _PLACE.fullmatch(axis)
    if match is None:
        return None
    value = next((v for v in graph.input if v.name == match[1] and v.name not in weights), None)
    dims = [] if value is None else value.type.tensor_type.shape.dim
    place = int(match[2])
    return dims[place] if place < len(dims) else None


def _bind(proto: Any, symbol: str, size: int) -> int:
    """In every declaration, those of inner graphs included."""
    count = 0
    for graph in all_graphs(proto.graph):
        for value in (*graph.input, *graph.output, *graph.value_info):
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_param == symbol:
                    dim.dim_value = size
                    count += 1
    return count
