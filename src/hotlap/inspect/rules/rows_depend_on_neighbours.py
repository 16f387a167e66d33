"""HL102: a row's answer depends on the rows beside it, so strangers' requests must not share a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.inspect.rows import Rows
from hotlap.inspect.shapes import shapes
from hotlap.inspect.shaping import reduced
from hotlap.model.walk import Node
from hotlap.plan import Facts

RULE = Rule(
    code="HL102",
    name="rows-depend-on-neighbours",
    title="A row's answer depends on the rows beside it",
    severity="warning",
)

_ONE_SCALE = (
    "DynamicQuantizeLinear",
    "com.microsoft.DynamicQuantizeMatMul",
    "com.microsoft.DynamicQuantizeLSTM",
)
"""They take one scale from the largest and the smallest value of a whole tensor, all rows together."""
_ONE_SCALE_FIX = "quantise statically, or serve each request alone"


def find(case: Case) -> Iterator[Finding]:
    rows = Rows(case)
    facts = case.ran.facts if case.ran else None
    if rows.one_at_most:
        return
    quantised = list(case.walk.nodes(*_ONE_SCALE))
    mixed = None if facts and facts.rows == "independent" else _mixing(case, rows)
    if quantised:
        yield _of_scale(quantised, facts)
    elif facts and facts.rows == "dependent":
        node, how = mixed or (None, "")
        yield _finding(f"the rows of one call are not independent: {facts.why or how}", node, how)
    elif mixed:
        yield _finding(f"the rows of one call are not independent: {mixed[1]}", *mixed)


def _of_scale(nodes: list[Node], facts: Facts | None) -> Finding:
    more = f" and {len(nodes) - 1} more take" if len(nodes) > 1 else " takes"
    seen = {
        "dependent": f"; a run shows it: {facts.why}" if facts and facts.why else "; a run shows it",
        "independent": "; the inputs that were run did not show it, a louder neighbour would",
    }.get(facts.rows if facts else "", "")
    return RULE.found(
        (
            f"{nodes[0].label}{more} one scale for all rows of a call, so a row's answer depends on "
            f"its neighbours and on padding{seen}"
        ),
        node=nodes[0].label,
        fix=_ONE_SCALE_FIX,
    )


def _finding(message: str, node: Node | None, how: str) -> Finding:
    return RULE.found(
        message,
        node=node.label if node else "",
        fix="serve each request alone; in training mode export again with eval()"
        if "training" in how
        else "serve each request alone",
    )


def _mixing(case: Case, rows: Rows) -> tuple[Node, str] | None:
    """The first node that is proven to mix rows, and how."""
    for node in case.walk.root.nodes:
        how = _HOW.get(node.op)
        said = how(case, rows, node) if how else ""
        if said:
            return node, f"{node.label} {said}"
    return None


def _first_axis(rows: Rows, node: Node) -> tuple[int, int] | None:
    """(axis of the rows, rank) of the node's first input."""
    value = node.inputs[0] if node.inputs else ""
    axis, rank = rows.axis(value), rows.rank(value)
    return None if axis is None or rank is None else (axis, rank)


def _along(case: Case, rows: Rows, node: Node) -> str:
    at = _first_axis(rows, node)
    if at is None:
        return ""
    axis, rank = at
    old = node.op in ("Softmax", "LogSoftmax", "Hardmax") and (case.walk.opset(node.scope, "") or 0) < 13
    said = int(node.attribute("axis", 1 if old else -1))
    said += rank if said < 0 else 0
    # Before opset 13 all axes from the given one on were taken together.
    return "works across the rows" if axis == said or (old and axis > said) else ""


def _from_axis_on(_: Case, rows: Rows, node: Node) -> str:
    at = _first_axis(rows, node)
    if at is None:
        return ""
    said = int(node.attribute("axis", -1))
    return "normalises across the rows" if at[0] >= said + (at[1] if said < 0 else 0) else ""


def _reduces(case: Case, rows: Rows, node: Node) -> str:
    at = _first_axis(rows, node)
    try:
        axes = reduced(shapes(case.walk), node) if at else None
    except (ValueError, TypeError):
        return ""
    return "reduces across the rows" if at and axes and at[0] in axes and _is_data(case, node) else ""


def _is_data(case: Case, node: Node) -> bool:
    """Whether what the node makes goes into values, and not into shapes alone."""
    left, seen = [node], {node}
    while left:
        for output in left.pop().outputs:
            if case.walk.is_output(node.scope, output):
                return True
            for reader in case.walk.readers(node.scope, output):
                if reader.op in _SHAPE_ONLY and reader.inputs[0] != output:
                    continue
                if reader.op in ("Shape", "Size", "Range", "ConstantOfShape"):
                    continue
                if reader not in seen:
                    seen.add(reader)
                    left.append(reader)
    return False


_SHAPE_ONLY = frozenset({"Reshape", "Expand", "Tile", "Slice", "Resize", "Pad"})
"""Operators whose later inputs say a shape."""


def _training(_: Case, rows: Rows, node: Node) -> str:
    if not node.attribute("training_mode", 0) or _first_axis(rows, node) is None:
        return ""
    return "is in training mode: it normalises by the mean of the batch"


_HOW: Mapping[str, Callable[[Case, Rows, Node], str]] = {
    **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax"), _along),
    **dict.fromkeys(("LayerNormalization", "RMSNormalization"), _from_axis_on),
    **dict.fromkeys(
        (
            "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
            "ReduceProd", "ReduceSum", "ReduceSumSquare", "ArgMax", "ArgMin",
        ),
        _reduces,
    ),
    "BatchNormalization": _training,
}  # fmt: skip
