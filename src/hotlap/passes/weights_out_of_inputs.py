"""Take weights out of the list of inputs, where old exporters put them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hotlap.passes.draft import Draft
from hotlap.passes.graphs import keep
from hotlap.passes.step import Aim, Passed, counted, unchanged

__all__ = ["WeightsOutOfInputs"]

FIRST = 4
"""The IR version from which on weights need not be inputs."""


@dataclass(frozen=True)
class WeightsOutOfInputs:
    """Removes weights from the list of inputs, where old files repeat them.

    A weight that is also an input may be replaced by any caller, so the runtime can neither fold nor fuse it.

    Args:
        compulsory: only where the file's IR version is so old that every weight had to be an input. In newer
            files it says that a caller may give another.
    """

    compulsory: bool = False
    name: ClassVar[str] = "weights-out-of-inputs"
    aim: ClassVar[Aim] = "speed"

    def requires(self, draft: Draft) -> str:
        listed = sum(1 for v in draft.proto.graph.input if v.name in draft.weights)
        if self.compulsory and listed and draft.proto.ir_version >= FIRST:
            inputs = "weight is an input" if listed == 1 else "weights are inputs"
            return f"{listed:,} {inputs} that a caller may give; name this pass to take that away"
        return ""

    def __call__(self, draft: Draft) -> Passed:
        weights = draft.weights
        if not any(v.name in weights for v in draft.proto.graph.input):
            return unchanged(draft, "no weight is listed among the inputs")
        proto = draft.copy()
        gone = keep(proto.graph.input, lambda v: v.name not in weights)
        many = f"{counted(gone, 'weight')} {'is no input' if gone == 1 else 'are no inputs'}"
        notes = [f"{many} any more; no caller can replace {'it' if gone == 1 else 'them'} from now on"]
        if proto.ir_version < FIRST:
            notes.append(f"IR version {proto.ir_version} became {FIRST}, the first that allows this")
            proto.ir_version = FIRST
        return Passed(draft.edited(proto), tuple(notes))

    def ensures(self, before: Draft, after: Draft) -> str:
        return "" if before.input_names == after.input_names else "an input that is no weight is gone"
