"""Half precision: float16 where the values allow it, float32 where they do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from hotlap.bench import Target
from hotlap.errors import VerificationFailed
from hotlap.model.graph import onnx
from hotlap.model.stored import as_tensor
from hotlap.model.walk import ONNX
from hotlap.passes import face, shapes
from hotlap.passes.draft import EXTERNAL, Draft
from hotlap.passes.halving import FLOAT, Halving, convertible
from hotlap.passes.proof import TIMEOUT
from hotlap.passes.ranges import Range, measured_ranges
from hotlap.passes.step import Aim, Passed, unchanged
from hotlap.passes.tools import Scratch
from hotlap.passes.unplaced import unplaced
from hotlap.plan import ModelRef, Plan
from hotlap.runtime import file_digest
from hotlap.verify import Reference

__all__ = ["Half"]

LARGEST, SMALLEST = 65504.0, 6.104e-5
"""The largest finite float16, and the smallest that has all its digits."""
MARGIN = 4.0
"""Values may become so much larger on other inputs than they were on those that were given."""
_MOVES = frozenset({"Cast", "Constant", "Identity", "Reshape", "Shape"})
_FRAGILE = frozenset({"Div", "Log", "Reciprocal", "Sqrt"})
"""A divisor, or what a root or a logarithm is taken of, that is rounded to 0 gives infinity."""
MOST = 64
"""Inputs that the ranges are taken from."""


@dataclass(frozen=True)
class Half:
    """Turns float32 into float16 inside the model; inputs and outputs stay float32.

    It runs the model on your inputs and keeps in float32 what comes near to the largest float16, 65,504, what
    is divided by numbers that float16 rounds to 0, and constants that it loses. What is left is judged by an
    emulation that rounds every value as a device would: a CPU computes such models in float32 and proves
    nothing. Whether it is faster, only the device can say.

    Args:
        feeds: your inputs, by the source's names; `optimize` gives its own.
    """

    feeds: Sequence[Mapping[str, Any]] = ()
    name: ClassVar[str] = "half"
    aim: ClassVar[Aim] = "mend"

    def given(self, feeds: Sequence[Mapping[str, Any]]) -> Half:
        """The same with inputs, unless it has some."""
        return self if self.feeds else replace(self, feeds=feeds)

    def requires(self, draft: Draft) -> str:
        if not self.feeds:
            return "it needs your inputs (--data), to see how large the values become"
        if any(True for _ in draft.external()):
            return "its weights lie in a file beside it; put this pass before external-weights"
        return ""

    def __call__(self, draft: Draft) -> Passed:
        """Raises VerificationFailed (the emulation is not close), TargetFailed (the model does not run)."""
        types = _types(draft)
        nodes = draft.proto.graph.node
        able = [n for n, node in enumerate(nodes) if convertible(node, types, draft.opset)]
        values = {v for n in able for v in _floats(nodes[n], types) if v not in draft.weights}
        ranges = measured_ranges(draft, sorted(values), self.feeds[:MOST])
        fragile = _fragile(nodes, ranges)
        kept = {n: why for n in able if (why := _why_not(draft, nodes[n], types, ranges, fragile))}
        chosen = frozenset(able) - frozenset(kept)
        if not any(nodes[n].op_type not in _MOVES for n in chosen):
            return unchanged(draft, "no node can be float16 on these inputs")
        self._judge_emulated(draft, types, chosen)
        proto = draft.copy()
        Halving(proto, types, chosen).rewrite()
        shown = (
            f"{len(chosen):,} of {len(nodes):,} nodes are float16, by what {len(self.feeds):,} inputs show"
        )
        return Passed(draft.edited(proto), (shown, *_told(nodes, kept)))

    def ensures(self, before: Draft, after: Draft) -> str:
        return face.differences(before, after)

    def _judge_emulated(self, draft: Draft, types: dict[str, int], chosen: frozenset[int]) -> None:
        """Judge every value rounded as a device would.

        Raises:
            VerificationFailed: the answers are not close.
        """
        proto = draft.copy()
        Halving(proto, types, chosen, emulate=True).rewrite()
        scratch = Scratch()
        for name in ("before", "emulated"):
            (scratch.path / name).mkdir()
        source = draft.lay(scratch.path / "before")
        file = draft.edited(proto).lay(scratch.path / "emulated")
        plan = Plan(
            model=ModelRef(path=str(file), digest=file_digest(file)),
            session={"graph_optimization_level": "ORT_DISABLE_ALL"},  # others leave out casts there and back
        )
        emulated = Target.planned(plan, folder=scratch.path, label="half: float16 arithmetic")
        feeds = [{n: feed[s] for n, s in draft.inputs.items()} for feed in self.feeds]
        before = Target.default(source, label="half: float32")
        with (
            unplaced(scratch.path),
            Reference(before, feeds, generated=False, timeout=TIMEOUT) as known,
        ):
            verdict = known.judge(emulated, "close")
        if not verdict.passed:
            raise VerificationFailed(f"half: in float16 arithmetic the answers differ: {verdict.reason}")


_SHOWN = 5


def _told(nodes: Sequence[Any], kept: Mapping[int, str]) -> list[str]:
    told = [f"kept in float32: {nodes[n].op_type} {nodes[n].name!r}: {why}" for n, why in kept.items()]
    more = [f"and {len(told) - _SHOWN:,} nodes more"] if len(told) > _SHOWN else []
    return [*told[:_SHOWN], *more]


def _fragile(nodes: Sequence[Any], ranges: Mapping[str, Range]) -> frozenset[str]:
    """Divisors, and what roots and logarithms are taken of, that become too small for float16."""
    found = (
        node.input[1] if node.op_type == "Div" else node.input[0]
        for node in nodes
        if node.op_type in _FRAGILE and node.domain in ONNX
    )
    return frozenset(v for v in found if v in ranges and ranges[v].low < SMALLEST)


def _types(draft: Draft) -> dict[str, int]:
    """Value of the model's own graph to its element type."""
    found = shapes.infer(draft, trusting=True).graph
    known = (
        *found.input,
        *found.value_info,
        *found.output,
        *draft.proto.graph.input,
        *draft.proto.graph.output,
    )
    types = {v.name: v.type.tensor_type.elem_type for v in known if v.type.tensor_type.elem_type}
    types.update({t.name: t.data_type for t in draft.proto.graph.initializer})
    return types


def _floats(node: Any, types: Mapping[str, int]) -> list[str]:
    return [v for v in (*node.input, *node.output) if v and types[v] == FLOAT]


def _why_not(
    draft: Draft,
    node: Any,
    types: Mapping[str, int],
    ranges: Mapping[str, Range],
    fragile: frozenset[str],
) -> str:
    """Why a node that could be float16 stays float32; "" where nothing speaks against it."""
    weights = {t.name: t for t in draft.proto.graph.initializer}
    for value in _floats(node, types):
        if value in weights:
            if why := _lost(weights[value], value):
                return why
        elif value in ranges and ranges[value].high * MARGIN > LARGEST:
            return f'"{value}" reaches {ranges[value].high:.3g}'
        elif value in ranges and 0 < ranges[value].high < SMALLEST:
            return f'"{value}" stays below {ranges[value].high:.3g}'
    for attribute in node.attribute:
        tensor = attribute.t if attribute.HasField("t") else as_tensor(attribute)
        if tensor is not None and tensor.data_type == FLOAT and (why := _lost(tensor, node.output[0])):
            return why
    small = [v for v in _floats(node, types) if v in fragile]
    if small:  # whoever makes it, and whoever divides by it
        return f'"{small[0]}" becomes as small as {ranges[small[0]].low:.3g}'
    return ""


def _lost(tensor: Any, name: str) -> str:
    """What float16 would lose of a constant; `name` is that of the value, which a tensor need not have."""
    if tensor.data_location == EXTERNAL:
        return "its weight lies in another file"
    size = np.abs(onnx().numpy_helper.to_array(tensor))
    high = float(size.max(initial=0))
    if not np.isfinite(high) or high > LARGEST:
        return f'"{name}" holds {high:.3g}'
    if 0 < high < SMALLEST:
        return f'"{name}" holds nothing above {high:.3g}'
    return ""
