"""Mend a constant batch: a size of 1 for the rows, written into the graph by an export with one example."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from hotlap.errors import HotlapError
from hotlap.model.graph import onnx
from hotlap.model.walk import ONNX, Node, Walk
from hotlap.passes import shapes
from hotlap.passes.draft import EXTERNAL, Draft
from hotlap.passes.feeding import made_feeds
from hotlap.passes.graphs import fresh, names, symbol_of
from hotlap.passes.proof import single_rows_agree
from hotlap.passes.rows import rows_hold
from hotlap.passes.step import Aim, Passed, unchanged
from hotlap.passes.tools import Scratch
from hotlap.passes.unplaced import unplaced

__all__ = ["MendBatch", "rows_lost"]

ROUNDS = 64
"""Reshapes one behind the other: each is mended once the shapes up to it are known."""


@dataclass(frozen=True)
class MendBatch:
    """Lets a model take any number of rows where an export with one example wrote that 1 into the graph.

    It mends the target sizes of Reshapes whose input carries the rows on its first axis, and where the inputs
    themselves are declared with one row, their declarations. It then runs 1, 2 and 3 rows and compares them
    with single runs of the file as it was; nothing is kept where they differ.
    """

    name: ClassVar[str] = "mend-batch"
    aim: ClassVar[Aim] = "mend"

    def requires(self, draft: Draft) -> str:
        if not _batched(draft.proto, draft.weights):
            return "no input has a first axis that is free or 1"
        return ""

    def __call__(self, draft: Draft) -> Passed:
        proto = draft.copy()
        batch, declared = _declare(proto, draft.weights)
        mended = _mend_reshapes(draft, proto, batch)
        if not mended and not declared:
            return unchanged(draft, "no constant batch was found that is safe to mend")
        _declare_outputs(proto, shapes.infer(draft.edited(proto)), batch)
        made = replace(draft.edited(proto), single=frozenset(_row_inputs(proto, batch, draft)))
        rows = _row_axes(made)
        if not declared and rows is not None and rows_hold(draft, made.single, rows):
            return unchanged(draft, "several rows already give what single rows give")
        return Passed(made, (*declared, *mended))

    def ensures(self, before: Draft, after: Draft) -> str:
        rows = _row_axes(after)
        return _without_rows(after) if rows is None else _disagreement(before, after, rows)


def rows_lost(draft: Draft) -> str:
    """What a pass after `MendBatch` did to several rows, or why that cannot be told; "" where they still give
    what single ones give.

    The proof asks a source that is right for single rows alone one row at a time, and so sees nothing of it.
    """
    if not any(symbol_of(d) for d in _batched(draft.proto, draft.weights)[:1]):
        return ""  # bound to a size since then
    rows = _row_axes(draft)
    return _without_rows(draft) if rows is None else _disagreement(draft, draft, rows)


def _disagreement(before: Draft, after: Draft, rows: dict[str, int]) -> str:
    try:
        verdict = single_rows_agree(before, after, _many_rows(after), rows)
    except HotlapError as error:
        return f"several rows do not run: {error}"
    if not verdict.passed:
        return f"several rows at once give other answers than one by one: {verdict.reason}"
    return ""


def _batched(proto: Any, weights: frozenset[str]) -> list[Any]:
    """The first axes that hold rows: free, or 1; of inputs of two axes or more."""
    found = []
    for value in proto.graph.input:
        dims = value.type.tensor_type.shape.dim
        if value.name not in weights and len(dims) > 1 and (dims[0].dim_value in (0, 1, -1)):
            found.append(dims[0])
    return found


def _row_inputs(proto: Any, batch: str, draft: Draft) -> list[str]:
    """The source's names of the inputs whose first axis holds the rows."""
    inputs = (v for v in proto.graph.input if v.name in draft.inputs)
    firsts = ((v.name, list(v.type.tensor_type.shape.dim)[:1]) for v in inputs)
    return [draft.inputs[name] for name, dims in firsts if dims and dims[0].dim_param == batch]


def _declare(proto: Any, weights: frozenset[str]) -> tuple[str, list[str]]:
    """Give the inputs' first axes one symbol; returns it, and a note where they were fixed."""
    dims = _batched(proto, weights)
    symbols = [s for d in dims if (s := symbol_of(d))]
    taken = names(proto) | {
        d.dim_param for v in proto.graph.input for d in v.type.tensor_type.shape.dim if d.dim_param
    }
    batch = symbols[0] if symbols else fresh("batch", taken)
    fixed = sum(1 for d in dims if d.dim_value == 1)
    notes = [f'the first axis of {fixed} input{"s" if fixed > 1 else ""}, fixed at 1, is "{batch}"']
    for dim in dims:
        if not symbol_of(dim):
            dim.dim_param = batch
    return batch, notes if fixed else []


def _mend_reshapes(draft: Draft, proto: Any, batch: str) -> list[str]:
    """Mend one after the other, from the inputs on: what follows one hangs on what it gives."""
    notes: list[str] = []
    for _ in range(ROUNDS):
        edited = draft.edited(proto)
        known = _shapes(shapes.infer(edited), batch)
        mended = next(_mendable(Walk(proto), known, batch), None)
        if mended is None:
            break
        notes.append(_mend(proto, *mended))
    return notes


Sizes = list[int | str | None]


def _shapes(found: Any, batch: str) -> dict[str, Sizes]:
    """Value to what is known of its axes; of the model's own graph.

    Inference gives a new symbol to what it cannot follow, such as the rows behind a Resize. Where such a
    value is joined with one that has the rows, along another axis, its symbol stands for them as well.
    """
    values = (*found.graph.input, *found.graph.value_info, *found.graph.output)
    known: dict[str, Sizes] = {
        v.name: [d.dim_param or (d.dim_value if d.HasField("dim_value") else None) for d in dims]
        for v in values
        if (dims := v.type.tensor_type.shape.dim)
    }
    same, count = {batch}, 0
    while len(same) > count:
        count = len(same)
        for node in found.graph.node:
            if node.op_type == "Concat" and node.domain in ONNX:
                same |= _joined(node, known, same)
    return {name: [batch if size in same else size for size in sizes] for name, sizes in known.items()}


def _joined(node: Any, known: dict[str, Sizes], same: set[str]) -> set[str]:
    """Symbols of a Concat's first axes, where one of them stands for the rows and it joins along another."""
    axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
    sizes = [known[v] for v in (*node.input, *node.output) if v in known]
    firsts = {s[0] for s in sizes if isinstance(s[0], str)}
    if axis % len(sizes[0] if sizes else [0]) == 0 or not firsts & same:
        return set()
    return firsts


def _mendable(walk: Walk, known: dict[str, Sizes], batch: str) -> Iterator[tuple[Node, list[int]]]:
    """Reshapes of the model's own graph whose constant target begins with a 1 that stands for the rows."""
    for node in walk.root.nodes:
        if node.op != "Reshape" or node.attribute("allowzero", 0) or len(node.inputs) < 2:
            continue
        target = _constant(walk, node)
        source = known.get(node.inputs[0])
        if target is None or not source or not target or target[0] != 1:
            continue
        # With one row, target and source hold equally many elements. If of the source's axes the first alone
        # hangs on the rows, the rest of the target is one row at any number of them.
        if source[0] == batch and batch not in source[1:]:
            yield node, [0, *target[1:]]


def _constant(walk: Walk, node: Node) -> list[int] | None:
    tensor = walk.constant(node.scope, node.inputs[1])
    if tensor is None or tensor.data_location == EXTERNAL:
        return None
    return [int(n) for n in onnx().numpy_helper.to_array(tensor).reshape(-1)]


def _mend(proto: Any, node: Node, target: list[int]) -> str:
    """A target of its own for this node: others may read the old one."""
    taken = names(proto)
    name = fresh(f"{node.inputs[1]}_any_batch", taken)
    proto.graph.initializer.append(onnx().numpy_helper.from_array(np.array(target, np.int64), name))
    old = [1, *target[1:]]
    proto.graph.node[node.index].input[1] = name
    return f"{node.label}: its target {old} is {target}"


def _declare_outputs(proto: Any, found: Any, batch: str) -> None:
    """Outputs are declared as what follows from the inputs, where that says where the rows are.

    Where it has another number of axes than the file declares, the file is wrong, and all of them are.
    """
    known = _shapes(found, batch)
    for value in proto.graph.output:
        shape = known.get(value.name)
        dims = value.type.tensor_type.shape.dim
        if not shape or batch not in shape:
            continue
        if len(shape) != len(dims):
            del dims[:]
            for axis in shape:
                dims.add(**({"dim_param": axis} if isinstance(axis, str) else {"dim_value": axis or None}))
        for dim, axis in zip(dims, shape, strict=True):
            if axis == batch and dim.dim_param != batch:
                dim.dim_param = batch
    del proto.graph.value_info[:]  # they held the old batch


def _row_axes(after: Draft) -> dict[str, int] | None:
    """Output to the axis that the rows are on; None where one has none."""
    batch = _batched(after.proto, after.weights)[0].dim_param
    axes = {}
    for value in after.proto.graph.output:
        places = [n for n, d in enumerate(value.type.tensor_type.shape.dim) if d.dim_param == batch]
        if len(places) != 1:
            return None
        axes[value.name] = places[0]
    return axes


def _without_rows(after: Draft) -> str:
    """Of outputs whose rows cannot be found, so that nothing can be compared: the first, with its shape."""
    batch = _batched(after.proto, after.weights)[0].dim_param
    for value in after.proto.graph.output:
        dims = [d.dim_param or d.dim_value or "?" for d in value.type.tensor_type.shape.dim]
        if dims.count(batch) != 1:
            shape = ", ".join(map(str, dims))
            break
    return (
        f'output "{value.name}" [{shape}] does not carry the rows ("{batch}") on one axis, as far as its '
        "shape can be told, so several rows cannot be compared with single ones; keep other outputs first "
        "(--pass cut:NAME), or export the model again with a free batch"
    )


def _many_rows(after: Draft) -> list[dict[str, Any]]:
    """Feeds of 1, 2 and 3 rows that run in the mended model."""
    scratch = Scratch()
    own = after.lay(scratch.path)
    plain = after.edited(after.proto, inputs={name: name for name in after.input_names})
    with unplaced(scratch.path):
        return made_feeds(plain, own, rows=(3, 2, 1), strict=True)
