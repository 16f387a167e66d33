"""`Reference`: the answers and the noise of one model on one set of data, to judge many candidates by."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import msgspec

from hotlap.bench import Target
from hotlap.verify import judging
from hotlap.verify.answers import Refused
from hotlap.verify.calibration import measure, most
from hotlap.verify.columns import Columns, known_columns
from hotlap.verify.levels import ENOUGH_ROWS, NEAR, NOISE_FACTOR, UNSTEADY, check_metric, level_named
from hotlap.verify.metric import Metric, measured_change, split_labels
from hotlap.verify.rows import rows_of, shapes_of
from hotlap.verify.sides import Sides, spread
from hotlap.verify.source import FeedSource
from hotlap.verify.span import spans
from hotlap.verify.tallies import Tallies
from hotlap.verify.task import decided
from hotlap.verify.verdict import Noise, Verdict

__all__ = ["Metric", "Reference"]

Feed = dict[str, Any]
FIRST, AGAIN = "reference", "again"
LEAST = 8
"""Inputs that the noise is measured on, however slow the model is."""
MOST_AGAIN = 64
"""Inputs that the reference answers twice."""
_COST = 10.0
"""What measuring the noise costs, in passes of the reference: some at its speed, one unoptimised, which may
take several times as long."""


class Reference:
    """What a candidate must agree with. Computed once, in processes of its own; use it in a `with` block.

    Args:
        target: what is right, by definition: usually the model as ORT runs it with no options.
        data: the inputs, or a `FeedSource` that gives them; None: some are made to fit the signature, of
            several shapes.
        generated: the inputs were made to fit the signature, by the caller; then only "exact" judges.
        scores: output name to the axis along which the largest value is the answer. Outputs whose rows are
            probabilities (not negative, sum to 1 along the last axis) need not be named.
        boxes: output name to what the first four numbers of its rows are, of `boxes.FORMATS`: then "close" is
            also about how far they overlap.
        metric, max_drop: for the level "task": a score of (feeds, outputs), higher is better (`Metric` says
            what it may give), and how much lower the candidate's may be.
        labels: one for each input, or for each row of all inputs; the metric's third argument.
        maker: whose signature inputs are made to fit; None: the target's.
        names: what the outputs are called, where the target is a callable that gives them without names.
        noise_seconds: about how long measuring the noise may take; slow models are measured on fewer inputs.
        metric_seconds: about how long a metric of one number may be called again and again; each time.
        timeout: seconds after which a process counts as hung, beside what the reference itself took.

    Raises:
        TargetFailed: the reference crashed, hung or refused.
        InputError: there is no input.
        UsageError: a score names an output or an axis that is not there; or a metric without `max_drop`, or
            `max_drop` or `labels` without a metric.
        StorageError: no room for the answers.
    """

    def __init__(
        self,
        target: Target,
        data: Sequence[Feed] | FeedSource | None = None,
        *,
        generated: bool | None = None,
        scores: Mapping[str, int] | None = None,
        boxes: Mapping[str, str] | None = None,
        metric: Metric | None = None,
        max_drop: float | None = None,
        labels: Sequence[Any] | None = None,
        maker: Target | None = None,
        names: Sequence[str] = (),
        noise_seconds: float = 20.0,
        metric_seconds: float = math.inf,
        timeout: float = 120.0,
    ) -> None:
        check_metric(
            None, metric=metric is not None, max_drop=max_drop is not None, labels=labels is not None
        )
        self.target = target
        self.generated = data is None if generated is None else generated
        self.metric, self.max_drop, self._labels = metric, max_drop, labels
        self._names = tuple(names)
        self._noise_seconds, self._timeout = noise_seconds, timeout
        self._metric_seconds = metric_seconds
        self._noise: dict[str, Noise] | None = None
        self._judged = 0
        self._last: tuple[Target, str] | None = None
        self._columns: Columns = {}
        self._sides = Sides(data, maker or target)
        try:
            self._answer()
            self.inputs = self._sides.inputs
            self._spans = spans(self._sides.answers(FIRST), scores or {}, boxes)
            self._again = self._compare(AGAIN, spread(self.inputs, MOST_AGAIN), {})
            self._rows = self._count_rows()
            self.rows = sum(self._rows)
            self._labels = None if labels is None else split_labels(labels, self._rows)
        except BaseException:
            self.close()
            raise

    def _answer(self) -> None:
        """The reference's answers, and a second time in the same session: they should be the same."""
        first = self._sides.one(self.target, FIRST, names=self._names)
        again = self._sides.one(self.target, AGAIN, most=MOST_AGAIN, names=self._names)
        self._sides.ask([first, again], self.target.label, self._timeout)
        self.seconds = self._sides.seconds(FIRST)

    def _count_rows(self) -> list[int]:
        """Rows judged, of each input: its first axis counts where an output has an axis of the same size."""
        return [rows_of(self._sides.feed(n), answer) for n, answer in enumerate(self._sides.answers(FIRST))]

    def feed(self, number: int) -> Feed:
        """An input, by its number."""
        return self._sides.feed(number)

    @property
    def noise(self) -> dict[str, Noise]:
        """The model's own noise, by output: the most over all runs in which only rounding moved.

        Raises:
            TargetFailed: the model crashed or hung while it was measured.
        """
        if self._noise is None:
            affordable = int(self.inputs * self._noise_seconds / (_COST * self.seconds + 1e-9))
            self._calibrated = spread(self.inputs, max(LEAST, affordable))
            allowed = self._timeout + 10 * _COST * self.seconds
            found = measure(
                self._sides, self.target, self._spans, FIRST, self._calibrated, allowed, self._names
            )
            found.append(self._again.as_noise())
            self._noise = {label: most(found, label) for label in self._spans}
        return self._noise

    def _compare(self, name: str, numbers: Sequence[int], known: Mapping[str, Noise]) -> Tallies:
        tallies = Tallies(self._spans, known, columns=self._columns)
        pairs = zip(
            numbers, self._sides.answers(FIRST, numbers), self._sides.answers(name, numbers), strict=True
        )
        for number, before, after in pairs:
            if isinstance(after, Refused):
                tallies.refuse(number, f"input {number} ({shapes_of(self.feed(number))}): {after.why}")
            else:
                tallies.add(number, before, after)
        return tallies

    def _unsteady(self) -> str | None:
        """Why the reference itself has no answer: two equal runs of one session differ."""
        for diff in self._again.diffs():
            floats = self._spans[diff.name].epsilon
            apart = diff.rms > UNSTEADY if floats else diff.within < 1 - UNSTEADY
            if diff.reshaped or diff.broken or apart:
                return f'the model differs from itself between equal runs (output "{diff.name}")'
        return None

    # ── judging ───────────────────────────────────────────────────────────────────────────────────────

    def judge(self, candidate: Target, level: str = "exact") -> Verdict:
        """Whether a candidate's answers agree.

        Args:
            candidate: what is judged; it runs in a process of its own.
            level: of `LEVELS`. On generated inputs "exact" judges in any case.

        Raises:
            TargetFailed: the candidate crashed, hung or refused.
            UsageError: no such level, or "task" without a metric.
            StorageError: no room for the answers.
        """
        asked = level_named(level)
        if asked == "task":
            check_metric(asked, metric=self.metric is not None, max_drop=self.max_drop is not None)
        if unsteady := self._unsteady():
            return self._verdict(asked, False, unsteady)
        return self._judge(self._answers_of(candidate), asked)

    def _answers_of(self, candidate: Target) -> str:
        """The name of its answers; those of the last one are kept, for it may be judged at two levels."""
        if self._last is None or self._last[0] != candidate:
            if self._last is not None:
                self._sides.forget(self._last[1])
                self._last = None
            self._judged += 1
            name = f"candidate-{self._judged}"
            allowed = self._timeout + 20 * self.seconds
            outputs = next(iter(self._sides.answers(FIRST)))
            asked = self._sides.one(candidate, name, refusals=True, names=list(outputs))
            self._sides.ask([asked], candidate.label, allowed)
            self._last = candidate, name
            self._columns = known_columns(
                self.target, candidate, outputs, next((a for a in self._sides.answers(name) if a), {})
            )
        return self._last[1]

    def log_of(self, target: Target) -> str:
        """What the process of a target says on stderr while it loads; nothing is run.

        Raises:
            TargetFailed: it crashed, hung or refused.
        """
        folder = self._sides.ask([self._sides.one(target, "loaded", [])], target.label, self._timeout)
        return (folder / "stderr").read_text("utf-8", "replace")

    def _judge(self, name: str, asked: str) -> Verdict:
        level = "exact" if self.generated else asked
        tallies = self._compare(name, range(self.inputs), {} if level == "task" else self.noise)
        if level == "task" and tallies.reshaped and tallies.refused is None and tallies.lost is None:
            tallies = self._compare(name, range(self.inputs), self.noise)  # it may do the same
        if broken := judging.breakage(tallies):
            return self._verdict(level, False, broken, tallies)
        if level == "task":
            return self._judge_task(name, tallies)
        failures = judging.exact_failures(tallies) if level == "exact" else judging.close_failures(tallies)
        if not failures:
            said = judging.said_exact if level == "exact" else judging.said_close
            return self._verdict(level, True, said(tallies.diffs()), tallies)
        verdict = self._verdict(level, False, failures[0], tallies)
        return msgspec.structs.replace(verdict, unlock=self._unlock(level, tallies))

    def _unlock(self, level: str, tallies: Tallies) -> str | None:
        if self.generated:
            return "give --data to have it judged on your inputs"
        if level == "exact" and not judging.close_failures(tallies):
            return 'it is "close": allow that level'
        return 'judge it by your own metric, the level "task"'

    def _judge_task(self, name: str, tallies: Tallies) -> Verdict:
        assert self.metric is not None and self.max_drop is not None
        sides = (
            (self._sides.feed(n) for n in range(self.inputs)),
            self._sides.answers(FIRST),
            self._sides.answers(name),
        )
        feeds, before, after = (list(side) for side in sides)
        change = measured_change(
            self.metric, feeds, before, after, self._labels, self.rows, seconds=self._metric_seconds
        )
        found = decided(
            change, self.max_drop, lambda: not judging.exact_failures(self._with_noise(name, tallies))
        )
        verdict = self._verdict("task", found.passed, found.reason, tallies)
        return msgspec.structs.replace(
            verdict,
            score=change.after,
            reference_score=change.before,
            change=change,
            undecided=found.undecided,
            unlock=found.unlock,
        )

    def _with_noise(self, name: str, tallies: Tallies) -> Tallies:
        """The differences beside the noise, which the level "task" else does not need."""
        if not judging.exact_failures(tallies):  # not even beyond the last places
            return tallies
        return self._compare(name, range(self.inputs), self.noise)

    def _verdict(self, level: str, passed: bool, reason: str, tallies: Tallies | None = None) -> Verdict:
        few = f"; only {self.rows} rows judged" if self.rows < ENOUGH_ROWS else ""
        return Verdict(
            level=level,
            passed=passed,
            reason=f"{level}: {reason}{few}".replace("only 1 rows", "only 1 row"),
            outputs=tallies.diffs() if tallies else (),
            rows=self.rows,
            inputs=self.inputs,
            generated=self.generated,
            worst=judging.worst(tallies) if tallies else "",
            worst_input=judging.worst_input(tallies) if tallies else None,
            not_finite_input=judging.not_finite_input(tallies) if tallies else None,
            notes=(
                (*judging.not_finite(tallies), *judging.guessed_columns(tallies), *self._notes(level))
                if tallies
                else ()
            ),
        )

    def _notes(self, level: str) -> tuple[str, ...]:
        if level != "exact" or self._noise is None:
            return ()
        notes = [
            f'the noise of output "{label}" is {n.max_rel:.2g} of its range, so "exact" says little about it'
            for label, n in self._noise.items()
            if NOISE_FACTOR * n.max_rel > NEAR
        ]
        if len(self._calibrated) < self.inputs:
            notes.append(f"the noise was measured on {len(self._calibrated)} of {self.inputs} inputs")
        return tuple(notes)

    # ── the folder ────────────────────────────────────────────────────────────────────────────────────

    def close(self) -> None:
        """Removes the answers. Closing twice is fine."""
        self._sides.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
