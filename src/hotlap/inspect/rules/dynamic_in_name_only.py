"""HL101: an axis is declared to take any size, and takes one or few."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.inspect.shapes import Shapes, Stuck, shapes
from hotlap.model.walk import Node, Walk
from hotlap.plan import StuckAxis

RULE = Rule(
    code="HL101",
    name="dynamic-in-name-only",
    title="An axis is declared dynamic, and constant inside",
    severity="error",
)

_NAMED = re.compile(r"""[Nn]ame:\s*['"]([^'"]*)['"]""")
"""How ORT names the node that failed: ``running Reshape node. Name:'reshape_1' Status Message: …``."""
_HOLDS_A_SHAPE = {"Reshape": 1, "Expand": 1, "Tile": 1, "ConstantOfShape": 0, "Resize": 3}
"""Operator to the number of its input that says a shape."""


def find(case: Case) -> Iterator[Finding]:
    facts = case.ran.facts if case.ran else None
    if facts is not None:
        for stuck in facts.stuck:
            yield _seen(case.walk, stuck)
    else:
        yield from _proven(case.walk)


# ── a run showed it ───────────────────────────────────────────────────────────────────────────────────


def _seen(walk: Walk, stuck: StuckAxis) -> Finding:
    node, weight = _culprit(walk, stuck)
    works = f"works with {_listed(stuck.works)}, " if stuck.works else ""
    said = f": {stuck.said}" if stuck.said else ""
    blame = f"; {weight} holds the size that it was exported with" if weight else ""
    return RULE.found(
        (
            f"axis {stuck.axis} of input {stuck.input} is declared dynamic, but {works}"
            f"fails with {_listed(stuck.fails)}{said}{blame}"
        ),
        node=node.label if node else "",
        tensor=weight or stuck.input,
        fix=_mend(stuck.axis, node),
    )


def _mend(axis: int, node: Node | None) -> str:
    """What mends a batch takes rows, which stand on axis 0, through Reshapes."""
    if axis == 0 and (node is None or node.op == "Reshape"):
        return RULE.mend
    return "export it again with other sizes in the example, and with none of them taken as a number"


def _listed(sizes: tuple[int, ...]) -> str:
    return ", ".join(map(str, sizes)) or "other sizes"


def _culprit(walk: Walk, stuck: StuckAxis) -> tuple[Node | None, str]:
    """The node and the constant that pin the axis down: what is proven, else what ORT's message points to."""
    known = shapes(walk)
    dims = known.dims(stuck.input)
    symbol = dims[stuck.axis] if dims and stuck.axis < len(dims) else None
    proven = next((s for s in known.stuck if s.clash.symbol == symbol), None)
    if proven:
        return proven.node, proven.constant
    after = _downstream(walk, stuck.input)
    failed = next((n for name in _NAMED.findall(stuck.said) if name for n in after if _is(n, name)), None)
    suspects = [(n, w) for n in after if (w := _pinned_by(known, n, stuck))]
    if failed is None:
        return suspects[0] if suspects else (None, "")
    before = {failed, *_upstream(walk, failed)}
    near = [s for s in suspects if s[0] in before]
    return near[-1] if near else (failed, _pinned_by(known, failed, stuck))


def _is(node: Node, name: str) -> bool:
    """Whether ORT means this node: it adds to a name when it fuses or copies the node."""
    return bool(node.proto.name) and (name == node.proto.name or name.startswith(f"{node.proto.name}_"))


def _pinned_by(known: Shapes, node: Node, stuck: StuckAxis) -> str:
    """The constant in a node's shape that holds a size which the axis had at export, or ""."""
    at = _HOLDS_A_SHAPE.get(node.op)
    if node.op == "Concat":
        return next((v for v in node.inputs if v and known.walk.is_constant(node.scope, v)), "")
    if at is None or at >= len(node.inputs):
        return ""
    sizes = {1, *stuck.works}
    asked = known.asked(node.inputs[at]) or ()
    # The rows stand first nearly everywhere, so a literal there is the likelier culprit.
    for one in (*asked[:1], *asked[stuck.axis : stuck.axis + 1], *asked):
        if isinstance(one.size, int) and one.size in sizes and one.source:
            return one.source
    return ""


def _downstream(walk: Walk, value: str) -> list[Node]:
    """The nodes of the model's own graph that a value reaches, in the file's order."""
    reached = {value}
    found = []
    for node in walk.root.nodes:
        if not reached.isdisjoint(node.inputs):
            found.append(node)
            reached.update(o for o in node.outputs if o)
    return found


def _upstream(walk: Walk, node: Node) -> set[Node]:
    found: set[Node] = set()
    left = [node]
    while left:
        makers = (walk.root.makers.get(v) for v in left.pop().inputs)
        new = {m for m in makers if m is not None} - found
        found |= new
        left += new
    return found


# ── the graph alone proves it ─────────────────────────────────────────────────────────────────────────


def _proven(walk: Walk) -> Iterator[Finding]:
    known = shapes(walk)
    axes = _axes(walk, known)
    seen: set[str] = set()
    for stuck in known.stuck:
        symbol = stuck.clash.symbol
        if symbol in axes and symbol not in seen:
            seen.add(symbol)
            yield _clash(stuck, *axes[symbol])
    for output in walk.root.outputs:
        yield from _swallowed(walk, known, output, axes, seen)


def _axes(walk: Walk, known: Shapes) -> dict[str, tuple[str, int]]:
    """Symbol to the first input, and its axis, that is declared by it."""
    found: dict[str, tuple[str, int]] = {}
    for value in walk.root.proto.input:
        for axis, dim in enumerate(known.dims(value.name) or ()):
            if isinstance(dim, str):
                found.setdefault(dim, (value.name, axis))
    return found


def _clash(stuck: Stuck, name: str, axis: int) -> Finding:
    works = f"takes {' or '.join(map(str, stuck.clash.works))} alone" if stuck.clash.works else "is not free"
    blame = f" {stuck.constant} holds the size" if stuck.constant else " the operator fixes it"
    return RULE.found(
        (
            f"axis {axis} of input {name} is declared dynamic ({stuck.clash.symbol}), but {works} at "
            f"{stuck.node.label}:{blame}"
        ),
        node=stuck.node.label,
        tensor=stuck.constant or name,
        fix=_mend(axis, stuck.node),
    )


def _swallowed(
    walk: Walk, known: Shapes, output: str, axes: dict[str, tuple[str, int]], seen: set[str]
) -> Iterator[Finding]:
    """An output declared to have as many rows as an input, whose first size is a number all the same."""
    made, declared = known.dims(output), _first_symbol(walk, output)
    if not made or not isinstance(made[0], int) or declared not in axes or declared in seen:
        return
    maker, weight = _source(walk, known, output, made[0])
    seen.add(declared)
    name, axis = axes[declared]
    yield RULE.found(
        (
            f"output {output} is declared to follow axis {axis} of input {name} ({declared}), but always "
            f"gives {made[0]}: {weight or 'the graph'} holds the size"
        ),
        node=maker.label if maker else "",
        tensor=weight or output,
        fix=_mend(axis, maker),
    )


def _first_symbol(walk: Walk, output: str) -> str:
    kind = walk.root.types.get(output)
    if kind is None or not kind.HasField("tensor_type") or not len(kind.tensor_type.shape.dim):
        return ""
    return str(kind.tensor_type.shape.dim[0].dim_param).strip("? ")


def _source(walk: Walk, known: Shapes, output: str, size: int) -> tuple[Node | None, str]:
    """The nearest node upstream whose shape operand holds the size, and the constant in it."""
    last = walk.root.makers.get(output)
    if last is None:
        return None, ""
    nodes = {last, *_upstream(walk, last)}
    for node in sorted(nodes, key=lambda n: -n.index):
        at = _HOLDS_A_SHAPE.get(node.op)
        asked = known.asked(node.inputs[at]) if at is not None and at < len(node.inputs) else None
        if asked and asked[0].size == size and asked[0].source:
            return node, asked[0].source
    return last, ""
