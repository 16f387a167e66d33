"""Rename inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from hotlap.errors import UsageError
from hotlap.passes.draft import Draft
from hotlap.passes.graphs import clear_the_way, fresh, names, rename_values
from hotlap.passes.remove_zipmap import move_labels
from hotlap.passes.step import Aim, Passed, unchanged
from hotlap.tensors import nearest

__all__ = ["Rename"]


@dataclass(frozen=True)
class Rename:
    """Gives inputs and outputs other names, also where the graphs inside of nodes read them.

    A value inside the model that has a new name already gets another one; names may be swapped.

    Args:
        names: old name to new one.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    name: ClassVar[str] = "rename"
    aim: ClassVar[Aim] = "mend"

    def __post_init__(self) -> None:
        if not self.names or not all(self.names.values()):
            raise UsageError("rename: say which, as OLD=NEW")
        if len(set(self.names.values())) < len(self.names):
            raise UsageError("rename: two values cannot have one name")

    def requires(self, draft: Draft) -> str:
        known = (*draft.input_names, *draft.output_names)
        for old, new in self.names.items():
            if old not in known:
                return f'no input or output is called "{old}"{nearest(old, known)}'
            if new in known and new not in self.names:
                return f'"{new}" is the name of another input or output'
        both = set(draft.input_names) & set(draft.output_names) & set(self.names)
        if both:
            return f'"{both.pop()}" is an input and an output at once, which have one name'
        return ""

    def __call__(self, draft: Draft) -> Passed:
        new = {old: to for old, to in self.names.items() if old != to}
        if not new:
            return unchanged(draft, "all have these names already")
        proto = draft.copy()
        moved = _rename(proto, new, (*draft.input_names, *draft.output_names))
        move_labels(proto, {name: new.get(name, name) for name in draft.output_names})
        notes = [f'"{old}" is "{to}"' for old, to in new.items()]
        if moved:
            notes.append(f"inner values that had such a name got another: {', '.join(moved)}")
        edited = draft.edited(
            proto,
            inputs={new.get(name, name): source for name, source in draft.inputs.items()},
            outputs={new.get(name, name): origin for name, origin in draft.outputs.items()},
        )
        return Passed(edited, tuple(notes))

    def ensures(self, before: Draft, after: Draft) -> str:
        wanted = [
            tuple(self.names.get(n, n) for n in side) for side in (before.input_names, before.output_names)
        ]
        return "" if wanted == [after.input_names, after.output_names] else "other names than asked for"


def _rename(proto: Any, new: Mapping[str, str], face: tuple[str, ...]) -> list[str]:
    """By way of names that nobody has, so that two may swap theirs."""
    taken = names(proto) | set(new.values())
    between = {old: fresh("hotlap_renamed", taken) for old in new}
    rename_values(proto.graph, between)
    moved = clear_the_way(proto, new.values(), [n for n in face if n not in new])
    rename_values(proto.graph, {between[old]: to for old, to in new.items()})
    return moved
