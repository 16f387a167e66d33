"""Whether a result is kept: the proof that it answers as its source does, and its speed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from hotlap.bench import Comparison, Target, Workload, compare
from hotlap.errors import TargetFailed
from hotlap.model import Model
from hotlap.passes.draft import Draft
from hotlap.passes.feeding import ROWS, made_feeds, single_rows
from hotlap.passes.mend_batch import MendBatch, rows_lost
from hotlap.passes.optimised import Optimised
from hotlap.passes.proof import prove, readable
from hotlap.passes.saving import Written
from hotlap.passes.speed import cpu_time, too_slow
from hotlap.passes.step import Applied, Pass, changed_aims
from hotlap.passes.unplaced import unplaced
from hotlap.verify import Verdict

__all__ = ["Judging", "Progress"]

Feed = dict[str, Any]
Progress = Callable[[float, str], None]
"""Called with (share done, what is going on now)."""


@dataclass(frozen=True, slots=True)
class Judging:
    """What passes made of a source, and how it is to be judged.

    Attributes:
        source, draft: the model as it lies, and its graph.
        applied: what passes made of it.
        passes: those passes.
        given: the user's inputs; None: some are made.
        level, scores: of the gate: see `hotlap.passes.proof.prove`.
        workload: how long to measure; None: not at all.
        tell: told what goes on.
    """

    source: Model
    draft: Draft
    applied: Applied
    passes: Sequence[Pass]
    given: list[Feed] | None
    level: str
    scores: Mapping[str, int]
    workload: Workload | None
    tell: Progress

    def judged(self, files: Written, *, writes: bool) -> Optimised:
        """Prove and measure the result, and put its files into place where that speaks for it (`writes`).

        The file as written is what is judged: loaded again from disk, by processes that know nothing else.
        """
        self.tell(0.4, "verifying the answers")
        known, note = readable(self.draft, self.applied.draft)
        feeds = self._feeds(known)
        verdict = self._verdict(known, files.model, feeds)
        if note:
            verdict = msgspec.structs.replace(verdict, notes=(note, *verdict.notes))
        found: dict[str, Any] = {"result": Model.load(files.model), "verdict": verdict}
        if not verdict.passed:
            why = f"the answers differ: {verdict.reason}" if verdict.inputs else verdict.reason
            return self.outcome(why, **found, refused=True)
        if why := self._rows_lost():
            return self.outcome(why, **found, refused=True)
        if known is self.draft:
            comparison, not_measured = self._speed(files.model, feeds)
            if comparison is not None:
                comparison = _placed(comparison, str(files.out.absolute()) if writes else "")
        else:
            comparison, not_measured = None, "the source does not load here"
        found |= {"comparison": comparison, "not_measured": not_measured}
        if comparison is not None:
            found["cpu"] = cpu = cpu_time(comparison)
            for_speed = changed_aims(self.passes, self.applied.steps) == {"speed"}
            if for_speed and (why := too_slow(comparison, cpu)):
                return self.outcome(why, **found, refused=True)
        if not writes:
            return self.outcome("no file was asked for (-o)", **found)
        files.put(self.source.files())
        return self.outcome("", **found | {"result": Model.load(files.out)}, out=str(files.out))

    def outcome(self, reason: str, result: Model | None = None, **found: Any) -> Optimised:
        """What is told: `result` is the file that was written or would have been; `found` are further fields
        of `Optimised`."""
        shown = self.source if result is None else result
        return Optimised(
            source=str(self.source.path),
            source_digest=self.source.digest,
            digest=shown.digest,
            reason=reason,
            steps=self.applied.steps,
            nodes=self.draft.node_count(),
            size_before=self.source.size,
            size=shown.size,
            **{"out": None, **found},
        )

    def _feeds(self, known: Draft) -> list[Feed]:
        """By the names of the source, whose readable file is `known`; row by row where it takes no more."""
        single = self.applied.draft.single
        if self.given is None:
            assert known.path is not None
            with unplaced(*(kept.path for kept in known.kept)):
                return made_feeds(self.applied.draft, known.path, rows=(1,) if single else ROWS)
        return [one for feed in self.given for one in single_rows(feed, single)] if single else self.given

    def _verdict(self, known: Draft, model: Path, feeds: Sequence[Feed]) -> Verdict:
        """A result that crashes or refuses an input is refused like one that answers otherwise."""
        generated = self.given is None
        try:
            return prove(
                known, self.applied.draft, model, feeds, self.level, generated=generated, scores=self.scores
            )
        except TargetFailed as error:
            if not str(error).startswith("candidate"):
                raise
            why = f"the result does not run: {str(error).removeprefix('candidate: ')}"
            return Verdict(level=self.level, passed=False, reason=why, generated=generated)

    def _rows_lost(self) -> str:
        """What passes after mend-batch did to several rows; it looked itself at what it made."""
        last = [step.name for step in self.applied.steps if step.changed][-1]
        result = self.applied.draft
        return rows_lost(result) if result.single and last != MendBatch.name else ""

    def _speed(self, model: Path, feeds: Sequence[Feed]) -> tuple[Comparison | None, str]:
        """The comparison, or why there is none."""
        result = self.applied.draft
        if self.workload is None:
            return None, "not asked for"
        if any(name != origin for name, origin in result.inputs.items()) or result.dropped_inputs:
            return None, "source and result are not asked alike: their inputs have other names"
        sides = Target.default(self.source.path, label="source"), Target.default(model, label="result")

        def progress(done: int, total: int, label: str) -> None:
            self.tell(0.6 + 0.4 * done / total, f"measuring {label}")

        with unplaced(model.parent):
            return compare(*sides, self.workload, feeds, progress), ""


def _placed(comparison: Comparison, out: str) -> Comparison:
    """Kept with the place that the result is for ("": none): it was measured in a temporary folder."""
    side = comparison.b
    target = msgspec.structs.replace(side.target, model=out)
    return msgspec.structs.replace(comparison, b=msgspec.structs.replace(side, target=target))
