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
    data = node.inputs[: 2 if node.op in _HEAVY else None]
    for value in data:
        scales = _dequantiser(walk, node, value)
        if scales is None:
            if value and not _is_condition(node, value):
                yield value, f"{value} is not quantised"
        else:
            yield from _of_scales(walk, scales, is_weight=node.op in _HEAVY and value != node.inputs[0])
    output = next((o for o in node.outputs if o), "")
    readers = walk.readers(node.scope, output)
    if _quantised_after(walk, node):
        if walk.is_output(node.scope, output):
            yield output, f"{output} is also an output of the model"
        other = next((r for r in readers if r.op != _TO), None)
        if other is not None:
            yield output, f"{output} is also read by {other.label}"
        yield from _of_scales(walk, next(r for r in readers if r.op == _TO), is_weight=False)
    elif node.op not in _FLOAT_OUT or len(node.inputs) > 2:
        yield output, f"its output {output} is not quantised"


def _is_condition(node: Node, value: str) -> bool:
    return node.op == "Where" and value == node.inputs[0]


def _of_scales(walk: Walk, node: Node, is_weight: bool) -> Iterator[tuple[str, str]]:
    """What is wrong with one quantise or dequantise node."""
    types = elements(walk)
    for value in node.inputs[1:]:
        if value and not walk.is_constant(node.scope, value):
            yield value, f"{value}, a scale or zero point, is not constant"
    scale = walk.constant(node.scope, node.inputs[1]) if len(node.inputs) > 1 else None
    if scale is not None and not is_weight and any(d > 1 for d in scale.dims):
        yield node.inputs[1], f"{node.inputs[1]} holds a scale for each channel of the activations"
    kind = types.read(node)[0] if node.op == _FROM else types.made(node)[0]
    if kind and kind not in _EIGHT:
        yield node.inputs[0], f"{node.inputs[0]} is quantised to {kind}; ORT's kernels take 8 bits"


def _not_in_8_bits(counts: Counter[str], first: Node) -> Finding:
    listed = ", ".join(f"{n} {op}" for op, n in counts.most_common(5)) + (", …" if len(counts) > 5 else "")
    return RULE.found(
        f"ORT's CPU provider has no 8-bit form of {listed}: they convert to float and back",
        severity="info",
        node=first.label,
        fix="leave these operators unquantised",
    )
