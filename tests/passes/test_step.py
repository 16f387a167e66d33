from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from hotlap.errors import UsageError, VerificationFailed
from hotlap.passes.draft import Draft
from hotlap.passes.step import Aim, Passed, apply, changed_aims, unchanged
from tests import tiny
from tests.passes.asking import draft_of


class Scripted:
    """A pass that does as it is told."""

    name: ClassVar[str] = "scripted"
    aim: ClassVar[Aim] = "speed"

    def __init__(self, needs: str = "", graph: str | None = None, breaks: str = "") -> None:
        self.needs, self.graph, self.breaks = needs, graph, breaks

    def requires(self, draft: Draft) -> str:
        return self.needs

    def __call__(self, draft: Draft) -> Passed:
        if self.graph is None:
            return unchanged(draft)
        proto = draft.copy()
        proto.graph.name = self.graph
        return Passed(draft.edited(proto), (f"named {self.graph}",))

    def ensures(self, before: Draft, after: Draft) -> str:
        return self.breaks


def test_passes_are_applied_in_order_and_each_says_what_it_did(tmp_path: Path) -> None:
    draft = draft_of(tiny.add(), tmp_path)
    applied = apply(draft, [Scripted(), Scripted(graph="a"), Scripted(graph="b")])
    assert applied.draft.proto.graph.name == "b"
    assert [(s.changed, s.notes) for s in applied.steps] == [
        (False, ("nothing to change",)), (True, ("named a",)), (True, ("named b",)),
    ]  # fmt: skip


def test_nothing_changed_is_the_same_draft_with_the_same_digest(tmp_path: Path) -> None:
    draft = draft_of(tiny.add(), tmp_path)
    for same in (Scripted(), Scripted(graph="tiny")):  # one that writes what is there already
        applied = apply(draft, [same])
        assert applied.draft is draft and not applied.steps[0].changed


def test_a_pass_that_does_not_apply_is_an_error_or_left_out(tmp_path: Path) -> None:
    draft = draft_of(tiny.add(), tmp_path)
    with pytest.raises(UsageError, match="scripted: no batch"):
        apply(draft, [Scripted(needs="no batch")])
    applied = apply(draft, [Scripted(needs="no batch", graph="a")], strict=False)
    assert applied.draft is draft and applied.steps[0].notes == ("left out: no batch",)


def test_a_broken_promise_keeps_nothing(tmp_path: Path) -> None:
    with pytest.raises(VerificationFailed, match="scripted: an output is gone; nothing was kept"):
        apply(draft_of(tiny.add(), tmp_path), [Scripted(graph="a", breaks="an output is gone")])


def test_aims_of_those_that_changed_something(tmp_path: Path) -> None:
    passes = [Scripted(graph="a"), Scripted()]
    applied = apply(draft_of(tiny.add(), tmp_path), passes)
    assert changed_aims(passes, applied.steps) == {"speed"}
    assert changed_aims(passes[1:], applied.steps[1:]) == set()
