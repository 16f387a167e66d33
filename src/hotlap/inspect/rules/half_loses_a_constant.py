"""HL205: half precision loses a small constant: the epsilon that keeps a division from being one by 0."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hotlap.inspect.case import Case
from hotlap.inspect.computing import after_moves
from hotlap.inspect.finding import Finding, Rule
from hotlap.inspect.half import SMALLEST, SMALLEST_NORMAL
from hotlap.model.constants import constant
from hotlap.model.elements import Elements, elements
from hotlap.model.walk import Node, Walk

RULE = Rule(
    code="HL205",
    name="half-loses-a-constant",
    title="Half precision loses a small constant",
    severity="error",
)

_FIX = "keep this node in float32 (the converter's block list), or take an epsilon of 1e-5 or more"
_GUARDS = ("Add", "Sum", "Max", "Clip")
_GUARDED = ("Sqrt", "Div", "Reciprocal", "Log", "Pow", "com.microsoft.Rsqrt")
_NORMALISES = {"LayerNormalization": 1, "RMSNormalization": 1, "SimplifiedLayerNormalization": 1}
"""Operators with a ``stash_type``, and its default: 1 computes in float32 whatever the input is."""
_EPSILON = (
    *_NORMALISES, "BatchNormalization", "GroupNormalization", "InstanceNormalization",
    "com.microsoft.GroupNorm", "com.microsoft.SkipLayerNormalization",
    "com.microsoft.SkipSimplifiedLayerNormalization", "com.microsoft.EmbedLayerNormalization",
)  # fmt: skip
_TINY_EPSILON = (
    "com.microsoft.SkipLayerNormalization", "com.microsoft.SkipSimplifiedLayerNormalization",
    "com.microsoft.EmbedLayerNormalization",
)  # fmt: skip
"""Where epsilon is left out ORT takes 1e-12 for these (by its own schemas), 1e-5 for the others."""
_MOST = 64
"""A guard is one number, or one for each of a few channels."""


def find(case: Case) -> Iterator[Finding]:
    types = elements(case.walk)
    for node in case.walk.nodes(*_GUARDS):
        if types.made(node)[:1] == ("float16",) and _guards(case.walk, node):
            yield from _of_guard(case.walk, types, node)
    for node in case.walk.nodes(*_EPSILON):
        if "float16" in types.read(node):
            yield from _of_attribute(node)


def _guards(walk: Walk, node: Node) -> bool:
    """Whether what the node makes is divided by, or goes where 0 gives an infinity."""
    made = set(node.outputs)
    for reader in after_moves(walk, node):
        if reader.op != "Div" and reader.op in _GUARDED:
            return True
        # Of a division the second input counts; what was moved has another name, and is not the first.
        if reader.op == "Div" and len(reader.inputs) == 2 and reader.inputs[0] not in made:
            return True
    return False


def _of_guard(walk: Walk, types: Elements, node: Node) -> Iterator[Finding]:
    for value in node.inputs[:2] if node.op == "Clip" else node.inputs:
        source, said = _lost(walk, types, node, value)
        if not said:
            continue
        zero = said == "0"
        guards = "guards nothing" if zero else "guards less than it should"
        yield RULE.found(
            f"{source} is {said} in float16: {node.label} {guards}",
            severity=RULE.severity if zero else "warning",
            node=node.label,
            tensor=source,
            fix=_FIX,
        )


def _lost(walk: Walk, types: Elements, node: Node, value: str) -> tuple[str, str]:
    """(constant, what float16 leaves of it) of an input that is a constant too small; ("", "") if none."""
    source = value
    maker = walk.maker(node.scope, value) if value else None
    if maker is not None and maker.op == "Cast" and maker.inputs:
        source = maker.inputs[0]
    numbers = constant(walk, node.scope, source) if source else None
    if numbers is None or not 0 < numbers.size <= _MOST or numbers.dtype.kind != "f":
        return "", ""
    largest = float(np.max(np.abs(numbers.astype(np.float64))))
    if largest <= SMALLEST / 2:
        return source, "0"
    # A few units of the smallest number: what a converter clips to, or what rounding left of less.
    return (source, f"{float(np.float16(largest)):.0e}") if largest < SMALLEST_NORMAL / 64 else ("", "")


def _of_attribute(node: Node) -> Iterator[Finding]:
    epsilon = float(node.attribute("epsilon", 1e-12 if node.op in _TINY_EPSILON else 1e-5))
    if epsilon > SMALLEST / 2 or epsilon < 0:
        return
    stash = node.attribute("stash_type", _NORMALISES.get(node.op, 0))
    if stash == 1:
        return  # float32 inside, whatever the input is
    yield RULE.found(
        f"epsilon {epsilon:.0e} of {node.label} is 0 in float16: computed in half, it divides by 0",
        severity=RULE.severity if stash == 10 else "warning",
        node=node.label,
        fix=_FIX,
    )
