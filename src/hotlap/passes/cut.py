"""Cut the graph to the outputs that are wanted, or to a value inside it."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from hotlap.errors import TargetFailed, UsageError
from hotlap.passes import shapes
from hotlap.passes.draft import Draft, Origin
from hotlap.passes.graphs import keep, reads, replace_all, sweep, sweep_opsets
from hotlap.passes.remove_zipmap import move_labels
from hotlap.passes.step import Aim, Passed, counted, unchanged
from hotlap.tensors import nearest

__all__ = ["Cut"]

log = logging.getLogger("hotlap.passes")


@dataclass(frozen=True)
class Cut:
    """Removes what leads to no wanted output: nodes, weights, and, where asked for, inputs.

    The runtime computes every output of a file, whichever ones a caller asks for.

    Args:
        outputs: the outputs to keep, in this order; values inside the graph may be among them. None: all
            outputs stay, and only what leads to none of them goes.
        inputs: "keep": the inputs stay as they are. "drop": those that nothing reads any more go as well.
    """

    outputs: tuple[str, ...] | None = None
    inputs: str = "keep"
    name: ClassVar[str] = "cut"
    aim: ClassVar[Aim] = "mend"

    def __post_init__(self) -> None:
        if self.outputs is not None and (not self.outputs or len(set(self.outputs)) < len(self.outputs)):
            raise UsageError("cut: name one output or more, each once")
        if self.inputs not in ("keep", "drop"):
            raise UsageError(f'cut: inputs are "keep" or "drop", not "{self.inputs}"')

    def requires(self, draft: Draft) -> str:
        root = draft.walk.root
        known = {*root.makers, *draft.output_names}
        missing = [o for o in self.outputs or () if o not in known]
        if not missing:
            return ""
        if missing[0] in {*draft.weights, *draft.input_names}:
            kind = "a weight" if missing[0] in draft.weights else "an input"
            return f'"{missing[0]}" is {kind}, and no node makes it'
        hint = nearest(missing[0], known)
        return f'the model has no value "{missing[0]}"{hint}; its outputs are {", ".join(draft.output_names)}'

    def __call__(self, draft: Draft) -> Passed:
        proto = draft.copy()
        outputs = dict(draft.outputs)
        notes = []
        if self.outputs is not None and self.outputs != draft.output_names:
            values = _values(draft, self.outputs)
            replace_all(proto.graph.output, values)
            move_labels(proto, {name: name for name in self.outputs})
            # An inner value goes by the name that it has in the source, unless a pass before renamed it.
            outputs = {name: draft.outputs.get(name, Origin(name)) for name in self.outputs}
            notes.append(_told(draft.output_names, self.outputs))
        swept = [sweep(one) for one in (proto.graph, *proto.functions)]
        nodes, weights = (sum(counts) for counts in zip(*swept, strict=True))
        if nodes or weights:
            gone = f"{counted(nodes, 'node')} and {counted(weights, 'weight')}"
            notes.append(f"{gone} that led to no output are gone")
        inputs = dict(draft.inputs)
        if self.inputs == "drop" and (dropped := _drop_inputs(proto.graph, draft.weights)):
            inputs = {name: source for name, source in inputs.items() if name not in dropped}
            notes.append(f"inputs that nothing reads are gone: {', '.join(dropped)}")
        if not notes:
            return unchanged(draft, "every node and every weight leads to an output")
        sweep_opsets(proto)
        return Passed(draft.edited(proto, inputs=inputs, outputs=outputs), tuple(notes))

    def ensures(self, before: Draft, after: Draft) -> str:
        wanted = self.outputs or before.output_names
        return "" if after.output_names == wanted else f"the outputs are {', '.join(after.output_names)}"


def _values(draft: Draft, outputs: Iterable[str]) -> list[Any]:
    """The declarations of the wanted outputs; types of inner values are found out."""
    declared = {v.name: v for v in draft.proto.graph.output}
    inner = [name for name in outputs if name not in declared]
    if inner:
        found = _inferred(draft)
        known = {v.name: v for v in (*found.value_info, *found.input, *draft.proto.graph.value_info)}
        blank = type(draft.proto.graph.output[0])
        declared.update({name: known.get(name, blank(name=name)) for name in inner})
    return [declared[name] for name in outputs]


def _inferred(draft: Draft) -> Any:
    try:
        return shapes.infer(draft, trusting=True).graph
    except TargetFailed as error:  # the runtime finds the type out by itself
        log.info("cut: no type for an output: %s", error)
        return draft.proto.graph


def _told(before: tuple[str, ...], after: tuple[str, ...]) -> str:
    if set(after) < set(before):
        return f"outputs kept: {', '.join(after)}; dropped: {', '.join(o for o in before if o not in after)}"
    return f"the outputs were {', '.join(before)} and are {', '.join(after)}"


def _drop_inputs(graph: Any, weights: frozenset[str]) -> list[str]:
    read = {v.name for v in graph.output}
    for node in graph.node:
        read |= reads(node)
    dropped = [v.name for v in graph.input if v.name not in read and v.name not in weights]
    keep(graph.input, lambda v: v.name not in dropped)
    return dropped
