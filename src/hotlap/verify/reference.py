"""`Reference`: the answers and the noise of one model on one set of data, to judge many candidates by."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import msgspec
import numpy as np

from hotlap.bench import Target
from hotlap.errors import UsageError
from hotlap.tensors import nearest
from hotlap.verify import judging
from hotlap.verify.calibration import measure, most
from hotlap.verify.levels import ENOUGH_ROWS, LEVELS, NEAR, NOISE_FACTOR, UNSTEADY
from hotlap.verify.sides import Sides, spread
from hotlap.verify.span import spans
from hotlap.verify.tally import Tallies
from hotlap.verify.verdict import Noise, Verdict

__all__ = ["Metric", "Reference", "verify"]

Feed = dict[str, Any]
Metric = Callable[[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]], float]
"""(feeds, outputs) to a score, higher is better; one output dict for each feed."""

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
        data: the inputs; None: some are made to fit the signature.
        generated: the inputs were made to fit the signature, by the caller; then only "exact" judges.
        scores: output name to the axis along which the largest value is the answer. Outputs whose rows are
            probabilities (not negative, sum to 1 along the last axis) need not be named.
        metric, max_drop: for the level "task": a score of (feeds, outputs), higher is better, and how much
            lower the candidate's may be.
        noise_seconds: about how long measuring the noise may take; slow models are measured on fewer inputs.
        timeout: seconds after which a process counts as hung, beside what the reference itself took.

    Raises:
        TargetFailed: the reference crashed, hung or refused.
        InputError: there is no input.
        UsageError: a score names an output or an axis that is not there.
        StorageError: no room for the answers.
    """

    def __init__(
        self,
        target: Target,
        data: Sequence[Feed] | None = None,
        *,
        generated: bool | None = None,
        scores: Mapping[str, int] | None = None,
        metric: Metric | None = None,
        max_drop: float | None = None,
        noise_seconds: float = 20.0,
        timeout: float = 120.0,
    ) -> None:
        self.target = target
        self.generated = data is None if generated is None else generated
        self.metric, self.max_drop = metric, max_drop
        self._noise_seconds, self._timeout = noise_seconds, timeout
        self._noise: dict[str, Noise] | None = None
        self._judged = 0
        self._last: tuple[Target, str] | None = None
        self._sides = Sides(data)
        self.inputs = self._sides.inputs
        try:
            self._answer()
            self._spans = spans(self._sides.answers(FIRST), scores or {})
            self._again = self._compare(AGAIN, spread(self.inputs, MOST_AGAIN), {})
            self.rows = self._count_rows()
        except BaseException:
            self.close()
            raise

    def _answer(self) -> None:
        """The reference's answers, and a second time in the same session: they should be the same."""
        first = self._sides.one(self.target, FIRST)
        again = self._sides.one(self.target, AGAIN, numbers=spread(self.inputs, MOST_AGAIN))
        self._sides.ask([first, again], self.target.label, self._timeout)
        self.seconds = self._sides.seconds(FIRST)

    def _count_rows(self) -> int:
        """Rows judged: an input's first axis counts where an output has an axis of the same size."""
        return sum(_rows(self._sides.feed(n), answer) for n, answer in enumerate(self._sides.answers(FIRST)))

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
            found = measure(self._sides, self.target, self._spans, FIRST, self._calibrated, allowed)
            found.append(self._again.as_noise())
            self._noise = {label: most(found, label) for label in self._spans}
        return self._noise

    def _compare(self, name: str, numbers: Sequence[int], known: Mapping[str, Noise]) -> Tallies:
        tallies = Tallies(self._spans, known)
        pairs = zip(
            numbers, self._sides.answers(FIRST, numbers), self._sides.answers(name, numbers), strict=True
        )
        for number, before, after in pairs:
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
        asked = _level(level)
        if asked == "task" and (self.metric is None or self.max_drop is None):
            raise UsageError('the level "task" needs a metric and how much it may drop (max_drop)')
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
            self._sides.ask([self._sides.one(candidate, name)], candidate.label, allowed)
            self._last = candidate, name
        return self._last[1]

    def _judge(self, name: str, asked: str) -> Verdict:
        level = "exact" if self.generated else asked
        tallies = self._compare(name, range(self.inputs), {} if level == "task" else self.noise)
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
        feeds = [self._sides.feed(n) for n in range(self.inputs)]
        before = float(self.metric(feeds, list(self._sides.answers(FIRST))))
        after = float(self.metric(feeds, list(self._sides.answers(name))))
        drop = before - after
        passed = math.isfinite(drop) and drop <= self.max_drop
        said = f"the metric went from {before:.6g} to {after:.6g}, {self.max_drop:g} lower is allowed"
        verdict = self._verdict("task", passed, said, tallies)
        return msgspec.structs.replace(verdict, score=after, reference_score=before)

    def _verdict(self, level: str, passed: bool, reason: str, tallies: Tallies | None = None) -> Verdict:
        few = f"; only {self.rows} rows judged" if self.rows < ENOUGH_ROWS else ""
        return Verdict(
            level=level,
            passed=passed,
            reason=f"{level}: {reason}{few}".replace("only 1 rows", "only 1 row"),
            outputs=tallies.diffs() if tallies else (),
            rows=self.rows,
            generated=self.generated,
            worst=judging.worst(tallies) if tallies else "",
            notes=self._notes(level) if tallies else (),
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


def verify(
    reference: Target,
    candidate: Target,
    data: Sequence[Feed] | None = None,
    level: str = "exact",
    *,
    generated: bool | None = None,
    scores: Mapping[str, int] | None = None,
    metric: Metric | None = None,
    max_drop: float | None = None,
    timeout: float = 120.0,
) -> Verdict:
    """Whether a candidate's answers agree with a reference's; `Reference` judges many against one.

    The arguments and what is raised are those of `Reference` and `Reference.judge`.
    """
    _level(level)
    with Reference(
        reference,
        data,
        generated=generated,
        scores=scores,
        metric=metric,
        max_drop=max_drop,
        timeout=timeout,
    ) as known:
        return known.judge(candidate, level)


def _level(name: str) -> str:
    if name not in LEVELS:
        raise UsageError(f'no level "{name}"{nearest(name, LEVELS)}; there are {", ".join(LEVELS)}')
    return name


def _rows(feed: Mapping[str, Any], answer: Mapping[str, Any]) -> int:
    sizes = {array.shape[0] for array in list(feed.values())[:1] if array.ndim}
    axes = {
        size
        for v in answer.values()
        for size in (v.shape if isinstance(v, np.ndarray) else (len(v),) if isinstance(v, list) else ())
    }
    return max(sizes & axes, default=1)
