"""Which shapes and types follow from a graph's inputs, by onnx's own inference in a process of its own.

Large weights are kept from it: it needs their shapes, not their numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hotlap.model.graph import load_graph, onnx
from hotlap.passes.draft import EXTERNAL, Draft
from hotlap.passes.graphs import all_graphs
from hotlap.passes.tools import run_tool

__all__ = ["infer", "large", "outside", "put_back", "set_aside"]

SMALL = 1 << 10
"""Elements: sizes and axes are smaller, and inference reads those."""
FIRST = 4
"""The IR version from which on a weight that is an input too is one that a caller may replace; before, every
weight had to be one."""


def infer(draft: Draft, *, trusting: bool = False) -> Any:
    """A ``ModelProto`` whose ``value_info`` tells all that could be found out; without large weights.

    Args:
        draft: the model.
        trusting: believe the shapes that the file declares for inner values and outputs.

    Raises:
        TargetFailed: inference failed or crashed.
    """
    proto = draft.copy()
    if not trusting:
        for graph in all_graphs(proto.graph):
            del graph.value_info[:]
        for value in proto.graph.output:
            if value.type.HasField("tensor_type"):
                value.type.tensor_type.ClearField("shape")
    set_aside(proto, large)
    result, scratch = run_tool("infer", draft.edited(proto))
    found = load_graph(result)
    del scratch
    return found


def tool(source: Path, result: Path) -> None:
    """Runs in the tool's process."""
    model = load_graph(source)
    found = onnx().shape_inference.infer_shapes(model, data_prop=True)
    result.write_bytes(found.SerializeToString())


def large(tensor: Any) -> bool:
    """Whether a weight lies in a file, or is larger than what inference reads."""
    return outside(tensor) or int(np.prod(tensor.dims, dtype=np.int64)) > SMALL


def outside(tensor: Any) -> bool:
    """Whether a weight's numbers lie in a file."""
    return bool(tensor.data_location == EXTERNAL)


def set_aside(proto: Any, chosen: Callable[[Any], bool] = lambda tensor: False) -> list[Any]:
    """Take weights out and declare them as inputs instead; returns them for `put_back`.

    Those that a caller may replace are always among them: tools take the number that the file has for one
    that holds whatever the caller gives.

    Args:
        proto: the model to change.
        chosen: which of the others.
    """
    graph, aside = proto.graph, []
    inputs = {v.name for v in graph.input}
    replaceable = inputs if proto.ir_version >= FIRST else set()
    for place in range(len(graph.initializer) - 1, -1, -1):
        tensor = graph.initializer[place]
        if tensor.name not in replaceable and not chosen(tensor):
            continue
        kept = type(tensor)()
        kept.CopyFrom(tensor)
        aside.append(kept)
        del graph.initializer[place]
        if kept.name not in inputs:
            graph.input.append(onnx().helper.make_tensor_value_info(kept.name, kept.data_type, kept.dims))
    return aside[::-1]


def put_back(proto: Any, aside: list[Any], inputs: frozenset[str]) -> None:
    """Undo `set_aside`; `inputs` are the names that were inputs before."""
    graph = proto.graph
    gone = {t.name for t in aside} - inputs
    for place in range(len(graph.input) - 1, -1, -1):
        if graph.input[place].name in gone:
            del graph.input[place]
    read = {v for g in all_graphs(graph) for n in g.node for v in n.input} | {v.name for v in graph.output}
    graph.initializer.extend(t for t in aside if t.name in read or t.name in inputs)
