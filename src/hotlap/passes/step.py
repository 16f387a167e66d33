"""The face of a pass, and what one gives back."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import msgspec

from hotlap.errors import UsageError, VerificationFailed
from hotlap.passes.draft import Draft

__all__ = ["Applied", "Pass", "Passed", "Step", "apply", "became", "counted", "unchanged"]

log = logging.getLogger("hotlap.passes")

Aim = Literal["speed", "mend"]


@dataclass(frozen=True, slots=True)
class Passed:
    """What a pass gives.

    Attributes:
        draft: the next one; the very one that was given where nothing was changed.
        notes: what was changed, or why nothing was; one sentence each.
    """

    draft: Draft
    notes: tuple[str, ...]


class Pass(Protocol):
    """A change of a model: one file each, composed by putting them into a list.

    Attributes:
        name: as on the command line.
        aim: "speed": kept only where the result is not slower. "mend": asked for, whatever it costs.
    """

    name: ClassVar[str]
    aim: ClassVar[Aim]

    def requires(self, draft: Draft) -> str:
        """Why it cannot be applied to this model; "" where it can."""

    def __call__(self, draft: Draft) -> Passed:
        """The changed model, and notes on what was changed.

        Raises:
            HotlapError: it could not be done.
        """

    def ensures(self, before: Draft, after: Draft) -> str:
        """What it promised and did not keep; "" where all is well."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one pass.

    Attributes:
        name: of the pass.
        changed: it changed the model.
        notes: what it did, or why it did nothing.
        nodes: how many the model has afterwards.
    """

    name: str
    changed: bool
    notes: tuple[str, ...]
    nodes: int


@dataclass(frozen=True, slots=True)
class Applied:
    """A draft after some passes, with a step for each."""

    draft: Draft
    steps: tuple[Step, ...]


def unchanged(draft: Draft, *why: str) -> Passed:
    """Nothing was to do."""
    return Passed(draft, why or ("nothing to change",))


def counted(number: int, thing: str) -> str:
    """``1 node``, ``2,000 nodes``."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def became(thing: str, before: int, after: int) -> tuple[str, ...]:
    """``2,000 nodes became 1,900``; nothing where as many are left."""
    return (f"{counted(before, thing)} became {after:,}",) if before != after else ()


def apply(draft: Draft, passes: Iterable[Pass], *, strict: bool = True) -> Applied:
    """Apply passes in their order.

    Args:
        draft: where to start.
        passes: what to apply.
        strict: a pass that does not apply to the model is an error; else it is left out, and a note says why.

    Raises:
        UsageError: a pass does not apply to the model (`strict`).
        VerificationFailed: what a pass made is not what it promises.
        HotlapError: a pass failed.
    """
    steps: list[Step] = []
    for one in passes:
        passed = _apply(one, draft, strict)
        changed = passed.draft is not draft
        for note in passed.notes:
            log.info("%s: %s", one.name, note)
        draft = passed.draft
        steps.append(Step(name=one.name, changed=changed, notes=passed.notes, nodes=draft.node_count()))
    return Applied(draft, tuple(steps))


def _apply(one: Pass, draft: Draft, strict: bool) -> Passed:
    if why := one.requires(draft):
        if strict:
            raise UsageError(f"{one.name}: {why}")
        return unchanged(draft, f"left out: {why}")
    passed = one(draft)
    if passed.draft is draft:
        return passed
    if passed.draft.digest == draft.digest:  # a tool wrote the same again
        return Passed(draft, passed.notes)
    if broken := one.ensures(draft, passed.draft):
        raise VerificationFailed(f"{one.name}: {broken}; nothing was kept")
    return passed


def changed_aims(passes: Sequence[Pass], steps: Sequence[Step]) -> frozenset[Aim]:
    """The aims of those passes that changed something."""
    return frozenset(one.aim for one, step in zip(passes, steps, strict=True) if step.changed)
