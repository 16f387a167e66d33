"""Judging the candidates: one verdict for each pair of provider and arithmetic."""

from __future__ import annotations

from hotlap.bench import Target
from hotlap.errors import TargetFailed
from hotlap.tune.candidates import Candidate
from hotlap.verify import Reference, Verdict

__all__ = ["Judge"]


class Judge:
    """Verdicts by `Candidate.gate`, each found once.

    Args:
        reference: the default's answers.
        level: the loosest gate that the user accepts. Full precision is tried at "exact" first, since that
            says more where it passes.
    """

    def __init__(self, reference: Reference, level: str) -> None:
        self.verdicts: dict[str, Verdict] = {}
        self._reference = reference
        self._level = level

    def judge(self, candidate: Candidate, target: Target) -> Verdict:
        """The verdict on a candidate's kind; a candidate that crashes while it is judged is refused."""
        known = self.verdicts.get(candidate.gate)
        if known is None:
            known = self.verdicts[candidate.gate] = self._judge(candidate, target)
        return known

    def _judge(self, candidate: Candidate, target: Target) -> Verdict:
        levels = [self._level]
        if candidate.arithmetic == "f32" and self._level != "exact":
            levels = ["exact", self._level]
        try:
            for level in levels:
                verdict = self._reference.judge(target, level)
                if verdict.passed:
                    break
        except TargetFailed as error:
            return Verdict(level=self._level, passed=False, reason=str(error))
        return verdict
