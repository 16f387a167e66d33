"""What a gate says: `Verdict`, with an `OutputDiff` for each output."""

from __future__ import annotations

from typing import Self

import msgspec

from hotlap.errors import VerificationFailed
from hotlap.verify.metric import Change

__all__ = ["Noise", "OutputDiff", "Verdict"]


class Noise(msgspec.Struct, frozen=True, kw_only=True):
    """How far the reference moves, where nothing but float rounding moved; the most over several runs.

    Attributes:
        max_rel, rms: of the differences, as shares of the output's range.
        mismatched: share of the values that are not equal; for outputs that are no floats.
        reshaped: share of the inputs for which the shape itself changed.
    """

    max_rel: float = 0.0
    rms: float = 0.0
    mismatched: float = 0.0
    reshaped: float = 0.0


class OutputDiff(msgspec.Struct, frozen=True, kw_only=True):
    """How one output of the candidate differs from the reference's, over all of the data.

    Attributes:
        name: the output; parts of a sequence or map that differ in kind are told apart in parentheses.
        max_abs, mean_abs: the largest absolute difference, and the mean.
        max_rel, mean_rel: the same as shares of `range`.
        max_relative, mean_relative: each difference as a share of the reference's own value there; of values
            larger than `levels.RELATIVE_FROM` of the largest.
        rms: root mean square of the differences, as a share of `range`.
        range: largest minus smallest value of the reference over the data; where the output never
            changes, its largest magnitude (1 if that is 0).
        cosine: between the two sides, all values as one vector; 1 where both are zero.
        within: share of the values within `levels.NEAR` of the range; for integers, booleans and text the
            share that is equal.
        top1: share of the rows whose largest value is at the same place; None where rows are no ranking.
        top1_rows, top1_differ: rows that rank; those that differ beyond a tie within the noise.
        top5: share of the rows of more than five values whose first place of the reference is among the
            candidate's five largest; None where there are none.
        boxes: rows that are boxes.
        iou, iou_least: how far boxes overlap those at the same place of the other side, intersection over
            union: the mean, and the least; None where there are none.
        broken: values that are NaN or infinite on one side alone.
        not_finite: values that are the same NaN or infinity on both sides, and count as equal.
        reshaped: share of the inputs on which the shapes differ.
        noise: the reference's own; None where it was not needed.
    """

    name: str
    max_abs: float
    max_rel: float
    rms: float
    range: float
    cosine: float
    within: float
    mean_abs: float = 0.0
    mean_rel: float = 0.0
    max_relative: float = 0.0
    mean_relative: float = 0.0
    top1: float | None = None
    top1_rows: int = 0
    top1_differ: int = 0
    top5: float | None = None
    boxes: int = 0
    iou: float | None = None
    iou_least: float | None = None
    broken: int = 0
    not_finite: int = 0
    reshaped: float = 0.0
    noise: Noise | None = None


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a candidate's answers agree with the reference's.

    Attributes:
        level: of `LEVELS`: the one that judged.
        passed: they agree.
        reason: one sentence with the numbers that decided.
        outputs: what was found, output by output; empty where the reference differs from itself.
        inputs: how many inputs were judged; 0 where the candidate gave no answer to judge.
        rows: how many rows were judged: of the first axis that an input shares with an output.
        generated: the inputs were made to fit the signature.
        unlock: what would let a refused candidate be judged again; None where nothing would, or it passed.
        worst: the value that differs most, in words; "" where none differs.
        worst_input: the number of the input to look at; None where nothing differs.
        not_finite_input: the number of the first input to which both sides answer NaN or infinity.
        undecided: for the level "task": the data cannot tell; then it has not passed either.
        notes: what to know beside the verdict, one sentence each.
        score, reference_score: the metric on both sides, for the level "task".
        change: the same with its interval.
    """

    level: str
    passed: bool
    reason: str
    outputs: tuple[OutputDiff, ...] = ()
    inputs: int = 0
    rows: int = 0
    generated: bool = False
    unlock: str | None = None
    worst: str = ""
    worst_input: int | None = None
    not_finite_input: int | None = None
    undecided: bool = False
    notes: tuple[str, ...] = ()
    score: float | None = None
    reference_score: float | None = None
    change: Change | None = None

    def check(self) -> Self:
        """Itself, if it passed: for test suites.

        Raises:
            VerificationFailed: it did not; the message is the reason and the worst value.
        """
        if not self.passed:
            raise VerificationFailed(f"{self.reason}; {self.worst}" if self.worst else self.reason)
        return self
