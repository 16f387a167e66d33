"""HL210: operators between quantise and dequantise nodes that ORT still computes in float."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hotlap.inspect.case import Case
from hotlap.inspect.computing import MOVES
from hotlap.inspect.finding import Finding, Rule
from hotlap.model.elements import elements
from hotlap.model.walk import Node, Walk

RULE = Rule(
    code="HL210",
    name="unfused-quantisation",
    title="Quantised operators are computed in float all the same",
    severity="warning",
    needs="run",
)

_FROM, _TO = "DequantizeLinear", "QuantizeLinear"
_HEAVY = (
    "Conv",
    "Gemm",
    "MatMul",
    "com.microsoft.FusedConv",
    "com.microsoft.nchwc.Conv",
    "com.microsoft.FusedGemm",
)
_FLOAT_OUT = ("Gemm", "MatMul")
"""Their integer forms give floats too: no QuantizeLinear need follow."""
_LIGHT = (
    frozenset(
        {
            "Add",
            "AveragePool",
            "Clip",
            "GlobalAveragePool",
            "LeakyRelu",
            "MaxPool",
            "Mul",
            "Relu",
            "Sigmoid",
            "Softmax",
        }
    )
    | MOVES
)
"""What else ORT 1.32 computes or moves in 8 bits on the CPU, as seen in the graphs that it executes."""
_EIGHT = ("uint8", "int8")


@dataclass(frozen=True, slots=True)
class _Block:
    """What keeps one node in float: the kind of reason, the value to blame, and the reason in words."""

    kind: str
    value: str
    why: str


def find(case: Case) -> Iterator[Finding]:
    walk = case.ran.executed if case.ran else None
    if walk is None:
        return
    blocked: dict[tuple[str, str], list[tuple[Node, _Block]]] = {}
    foreign: dict[str, list[Node]] = {}
    for node in walk.nodes():
        if node.op in (_FROM, _TO) or not _reads_dequantised(walk, node):
            continue
        if node.op in _HEAVY or (node.op in _LIGHT and _quantised_after(walk, node)):
            block = next(_blocks(walk, node), _Block("unknown", "", "why is not known"))
            # What ORT itself put there to move numbers about is nobody's fault.
            if node.op not in MOVES or block.kind != "unknown":
                blocked.setdefault((node.op, block.kind), []).append((node, block))
        elif node.op not in _LIGHT and _quantised_after(walk, node):
            foreign.setdefault(node.op, []).append(node)
    for alike in blocked.values():
        yield _blocked(alike)
    if foreign:
        yield _not_in_8_bits(foreign)


def _reads_dequantised(walk: Walk, node: Node) -> bool:
    return any(_dequantiser(walk, node, value) for value in node.inputs)


def _dequantiser(walk: Walk, node: Node, value: str) -> Node | None:
    maker = walk.maker(node.scope, value) if value else None
    return maker if maker is not None and maker.op == _FROM and len(maker.inputs) > 1 else None


def _quantised_after(walk: Walk, node: Node) -> bool:
    return any(r.op == _TO for o in node.outputs if o for r in walk.readers(node.scope, o))


def _blocked(alike: list[tuple[Node, _Block]]) -> Finding:
    """One finding for nodes of one operator that one kind of reason blocks; the first one is told."""
    node, block = alike[0]
    more = f"; {len(alike) - 1} more {node.proto.op_type} alike" if len(alike) > 1 else ""
    return RULE.found(
        f"{node.label} stands between quantised values, and ORT computes it in float: {block.why}{more}",
        node=node.label,
        tensor=block.value,
        cost="the conversions come on top of the float operator",
        fix=(
            "quantise the activations as QUInt8"
            if block.kind == "mixed"
            else "mend what blocks it and quantise again, or leave this node in float32"
        ),
    )


def _blocks(walk: Walk, node: Node) -> Iterator[_Block]:
    """What blocks a node, the first thing first."""
    for number, value in enumerate(node.inputs):
        scales = _dequantiser(walk, node, value)
        role = _role(node, number)
        if scales is not None:
            yield from _not_constant(walk, scales)
        if scales is not None and role != "bias":
            yield from _unfit(walk, scales, activations=role == "activations")
        elif scales is None and value and role in ("activations", "weights"):
            yield _Block("float", value, f"{value} is not quantised")
    yield from _after(walk, node)


def _role(node: Node, number: int) -> str:
    if node.op in _HEAVY:
        return ("activations", "weights", "bias")[min(number, 2)]
    if node.op == "Where" and number == 0:
        return "condition"
    # Of what only moves numbers, later inputs say where to.
    return "setting" if number and node.op in MOVES - {"Concat", "Where"} else "activations"


def _not_constant(walk: Walk, node: Node) -> Iterator[_Block]:
    for value in node.inputs[1:]:
        if value and not walk.is_constant(node.scope, value):
            yield _Block("not constant", value, f"{value}, a scale or zero point, is not constant")


def _unfit(walk: Walk, node: Node, activations: bool) -> Iterator[_Block]:
    """What is wrong with the numbers of a quantise or dequantise node."""
    scale = walk.constant(node.scope, node.inputs[1]) if len(node.inputs) > 1 else None
    if activations and scale is not None and any(d > 1 for d in scale.dims):
        why = f"{node.inputs[1]} holds a scale for each channel of the activations"
        yield _Block("per channel", node.inputs[1], why)
    kind, value = _kind(walk, node), node.inputs[0] if node.op == _FROM else node.outputs[0]
    if kind and kind not in _EIGHT:
        yield _Block("bits", value, f"{value} is quantised to {kind}; ORT's kernels take 8 bits")


def _kind(walk: Walk, node: Node) -> str:
    """The integer type that a quantise node makes, or a dequantise node reads."""
    types = elements(walk)
    return (types.read(node) if node.op == _FROM else types.made(node))[0]


def _after(walk: Walk, node: Node) -> Iterator[_Block]:
    output = next((o for o in node.outputs if o), "")
    readers = walk.readers(node.scope, output)
    quantiser = next((r for r in readers if r.op == _TO), None)
    if quantiser is None:
        if node.op not in _FLOAT_OUT or len(node.inputs) > 2:
            yield _Block("float out", output, f"its output {output} is not quantised")
        return
    if walk.is_output(node.scope, output):
        yield _Block("output", output, f"{output} is also an output of the model")
    other = next((r for r in readers if r.op != _TO), None)
    if other is not None:
        yield _Block("reader", output, f"{output} is also read by {other.label}")
    yield from _unfit(walk, quantiser, activations=False)
    yield from _mixed(walk, node, quantiser)


def _mixed(walk: Walk, node: Node, quantiser: Node) -> Iterator[_Block]:
    """Signed and unsigned at once. ORT makes int8 unsigned on x86, but only a value that one node reads."""
    made = _kind(walk, quantiser)
    for number, value in enumerate(node.inputs):
        scales = _dequantiser(walk, node, value)
        read = _kind(walk, scales) if scales and _role(node, number) == "activations" else made
        if scales and read != made:
            why = f"input {number} is {read} and its output {made} (ORT makes some of int8 unsigned)"
            yield _Block("mixed", value, why)


def _not_in_8_bits(foreign: dict[str, list[Node]]) -> Finding:
    most = sorted(foreign.items(), key=lambda item: -len(item[1]))
    listed = ", ".join(f"{len(nodes)} {op}" for op, nodes in most[:5]) + (", …" if len(most) > 5 else "")
    return RULE.found(
        f"ORT's CPU provider has no 8-bit form of {listed}: they convert to float and back",
        severity="info",
        node=most[0][1][0].label,
        fix="leave these operators unquantised",
    )
