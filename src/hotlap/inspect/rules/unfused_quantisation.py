"""HL210: operators between quantise and dequantise nodes that ORT still computes in float."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hotlap.inspect.case import Case
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
    "Add", "AveragePool", "Concat", "GlobalAveragePool", "LeakyRelu", "Mul", "Sigmoid", "Softmax", "Where",
)  # fmt: skip
"""What else ORT 1.32 computes in 8 bits on the CPU, as seen in the graphs that it executes."""
_EIGHT = ("uint8", "int8")


def find(case: Case) -> Iterator[Finding]:
    walk = case.ran.executed if case.ran else None
    if walk is None:
        return
    foreign: Counter[str] = Counter()
    first: dict[str, Node] = {}
    for node in walk.nodes():
        if node.op in (_FROM, _TO) or not _reads_dequantised(walk, node):
            continue
        if node.op in _HEAVY or (node.op in _LIGHT and _quantised_after(walk, node)):
            yield _blocked(walk, node)
        elif node.op not in _LIGHT and _quantised_after(walk, node):
            foreign[node.op] += 1
            first.setdefault(node.op, node)
    if foreign:
        yield _not_in_8_bits(foreign, first[foreign.most_common(1)[0][0]])


def _reads_dequantised(walk: Walk, node: Node) -> bool:
    return any(_dequantiser(walk, node, value) for value in node.inputs)


def _dequantiser(walk: Walk, node: Node, value: str) -> Node | None:
    maker = walk.maker(node.scope, value) if value else None
    return maker if maker is not None and maker.op == _FROM and len(maker.inputs) > 1 else None


def _quantised_after(walk: Walk, node: Node) -> bool:
    return any(r.op == _TO for o in node.outputs if o for r in walk.readers(node.scope, o))


def _blocked(walk: Walk, node: Node) -> Finding:
    tensor, why = next(_blockers(walk, node), ("", "why is not known"))
    return RULE.found(
        f"{node.label} stands between quantised values, and ORT computes it in float: {why}",
        node=node.label,
        tensor=tensor,
        cost="the conversions come on top of the float operator",
        fix="mend what blocks it and quantise again, or leave this node in float32",
    )


def _blockers(walk: Walk, node: Node) -> Iterator[tuple[str, str]]:
    """(value to blame, reason), the first thing that blocked it first."""
    for number, value in enumerate(node.inputs):
        scales = _dequantiser(walk, node, value)
        role = _role(node, number)
        if scales is not None:
            yield from _not_constant(walk, scales)
        if scales is not None and role != "bias":
            yield from _unfit(walk, scales, activations=role == "activations")
        elif scales is None and value and role in ("activations", "weights"):
            yield value, f"{value} is not quantised"
    yield from _after(walk, node)


def _role(node: Node, number: int) -> str:
    if node.op == "Where" and number == 0:
        return "condition"
    if node.op in _HEAVY:
        return ("activations", "weights", "bias")[min(number, 2)]
    return "activations"


def _not_constant(walk: Walk, node: Node) -> Iterator[tuple[str, str]]:
    for value in node.inputs[1:]:
        if value and not walk.is_constant(node.scope, value):
            yield value, f"{value}, a scale or zero point, is not constant"


def _unfit(walk: Walk, node: Node, activations: bool) -> Iterator[tuple[str, str]]:
    """What is wrong with the numbers of a quantise or dequantise node."""
    scale = walk.constant(node.scope, node.inputs[1]) if len(node.inputs) > 1 else None
    if activations and scale is not None and any(d > 1 for d in scale.dims):
        yield node.inputs[1], f"{node.inputs[1]} holds a scale for each channel of the activations"
    types = elements(walk)
    kind, value = (
        (types.read(node)[0], node.inputs[0]) if node.op == _FROM else (types.made(node)[0], node.outputs[0])
    )
    if kind and kind not in _EIGHT:
        yield value, f"{value} is quantised to {kind}; ORT's kernels take 8 bits"


def _after(walk: Walk, node: Node) -> Iterator[tuple[str, str]]:
    output = next((o for o in node.outputs if o), "")
    readers = walk.readers(node.scope, output)
    quantiser = next((r for r in readers if r.op == _TO), None)
    if quantiser is None:
        if node.op not in _FLOAT_OUT or len(node.inputs) > 2:
            yield output, f"its output {output} is not quantised"
        return
    if walk.is_output(node.scope, output):
        yield output, f"{output} is also an output of the model"
    other = next((r for r in readers if r.op != _TO), None)
    if other is not None:
        yield output, f"{output} is also read by {other.label}"
    yield from _unfit(walk, quantiser, activations=False)


def _not_in_8_bits(counts: Counter[str], first: Node) -> Finding:
    listed = ", ".join(f"{n} {op}" for op, n in counts.most_common(5)) + (", …" if len(counts) > 5 else "")
    return RULE.found(
        f"ORT's CPU provider has no 8-bit form of {listed}: they convert to float and back",
        severity="info",
        node=first.label,
        fix="leave these operators unquantised",
    )
